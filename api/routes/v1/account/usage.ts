import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { creditsUsed } from '../../../../src/credits/balance.ts';
import type { Services } from '../../../../src/services.ts';
import { readUsage } from '../../../../src/tenancy/usage.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';

const usage = z
  .object({
    period: z.object({ start: z.iso.date(), end: z.iso.date() }),
    requests: z.int(),
    runs: z.int(),
    tokens: z.int(),
    credits: z.int(),
  })
  .openapi('Usage');

const example = {
  period: { start: '2026-11-01', end: '2026-12-01' },
  requests: 412,
  runs: 90,
  tokens: 18_311,
  credits: 0,
};

export function usageRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });

  const read = operation({
    method: 'get',
    path: '/usage',
    operationId: 'getUsage',
    'x-client-method': 'usage.get',
    summary: 'Retrieve usage of the current month',
    description:
      "Usage of the key's environment in the current UTC month. Runs and tokens are exact. Requests are counted every five seconds, so those of the last seconds may be missing; a process that is killed loses them.",
    answers: { 200: answer('Returns the usage.', usage, { examples: { A: example, B: example } }) },
  });
  const routes = newRoutes();
  routes.openapi(read, async (c) => {
    const scope = c.get('scope');
    const used = await readUsage(scope);
    const credits = await creditsUsed(scope, new Date(used.period.start), new Date(used.period.end));
    return c.json(success({ ...used, credits }), 200);
  });
  return routes;
}
