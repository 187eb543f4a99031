import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { planNames } from '../../../../src/tenancy/core/plans.ts';
import type { ApiEnv } from '../../../context.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { plainAnswer } from '../../../schemas/answers.ts';

const keyHealth = z
  .object({ status: z.literal('healthy'), organization: z.string(), plan: z.enum(planNames) })
  .openapi('KeyStatus');

const example = { status: 'healthy', organization: 'Acme', plan: 'pro' } as const;

export function healthRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });

  const health = operation({
    method: 'get',
    path: '/health',
    operationId: 'verifyKey',
    'x-client-method': 'key.get',
    summary: 'Verify an API key',
    description: 'Returns the organization and plan of the key. Every valid key may call it.',
    answers: { 200: plainAnswer('The key is valid.', keyHealth, { A: example, B: example }) },
  });
  const routes = newRoutes();
  routes.openapi(health, (c) => {
    const { organizationName, plan } = c.get('caller');
    return c.json({ status: 'healthy' as const, organization: organizationName, plan }, 200);
  });
  return routes;
}
