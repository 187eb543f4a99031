import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { planNames } from '../../../../src/tenancy/core/plans.ts';
import type { ApiEnv } from '../../../context.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { anyKeyFailures, keySecurity, plainAnswer } from '../../../schemas/answers.ts';

const keyHealth = z
  .object({ status: z.literal('healthy'), organization: z.string(), plan: z.enum(planNames) })
  .openapi('KeyHealth');

const example = { status: 'healthy', organization: 'Acme', plan: 'pro' } as const;

export function healthRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const health = createRoute({
    method: 'get',
    path: '/health',
    tags: ['Account'],
    security: keySecurity(),
    operationId: 'verifyKey',
    summary: 'Verify an API key',
    description: 'Returns the organization and plan of the key. Every valid key may call it.',
    middleware: [requireKey(services)] as const,
    responses: {
      200: plainAnswer('The key is valid.', keyHealth, { A: example, B: example }),
      ...anyKeyFailures(),
    },
  });
  const routes = newRoutes();
  routes.openapi(health, (c) => {
    const { organizationName, plan } = c.get('caller');
    return c.json({ status: 'healthy' as const, organization: organizationName, plan }, 200);
  });
  return routes;
}
