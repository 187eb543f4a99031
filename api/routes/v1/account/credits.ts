import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { creditBalance } from '../../../../src/credits/balance.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { creditBalanceExample, creditBalanceSchema } from '../../../schemas/account/credits.ts';
import { answer, anyKeyFailures, keySecurity } from '../../../schemas/answers.ts';

export function creditRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const get = createRoute({
    method: 'get',
    path: '/credits',
    tags: ['Account'],
    security: keySecurity(),
    operationId: 'getCredits',
    summary: 'Retrieve the credit balance',
    description: "The balance of the key's environment. Test credits and live credits are separate.",
    middleware: [requireKey(services)] as const,
    responses: {
      200: answer('Returns the balance.', creditBalanceSchema, {
        examples: { A: creditBalanceExample, B: creditBalanceExample },
      }),
      ...anyKeyFailures(),
    },
  });
  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { nextGrantAt, ...balance } = await creditBalance(c.get('scope'));
    return c.json(success({ ...balance, nextGrantAt: nextGrantAt?.toISOString() ?? null }), 200);
  });
  return routes;
}
