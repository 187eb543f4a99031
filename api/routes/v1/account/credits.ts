import type { OpenAPIHono } from '@hono/zod-openapi';
import { creditBalance } from '../../../../src/credits/balance.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { creditBalanceExample, creditBalanceSchema } from '../../../schemas/account/credits.ts';
import { answer } from '../../../schemas/answers.ts';

export function creditRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });

  const get = operation({
    method: 'get',
    path: '/credits',
    operationId: 'getCredits',
    'x-client-method': 'credits.get',
    summary: 'Retrieve the credit balance',
    description: "The balance of the key's environment. Test credits and live credits are separate.",
    answers: {
      200: answer('Returns the balance.', creditBalanceSchema, {
        examples: { A: creditBalanceExample, B: creditBalanceExample },
      }),
    },
  });
  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { nextGrantAt, ...balance } = await creditBalance(c.get('scope'));
    return c.json(success({ ...balance, nextGrantAt: nextGrantAt?.toISOString() ?? null }), 200);
  });
  return routes;
}
