import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { creditsUsed } from '../../../../src/credits/balance.ts';
import type { Services } from '../../../../src/services.ts';
import { readUsage } from '../../../../src/tenancy/usage.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, anyKeyFailures, keySecurity } from '../../../schemas/answers.ts';

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
  const read = createRoute({
    method: 'get',
    path: '/usage',
    tags: ['Account'],
    security: keySecurity(),
    operationId: 'getUsage',
    summary: 'Retrieve usage of the current month',
    description:
      "Usage of the key's environment in the current UTC month. Runs and tokens are exact. Requests are counted every five seconds, so those of the last seconds may be missing; a process that is killed loses them.",
    middleware: [requireKey(services)] as const,
    responses: {
      200: answer('Returns the usage.', usage, { examples: { A: example, B: example } }),
      ...anyKeyFailures(),
    },
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
