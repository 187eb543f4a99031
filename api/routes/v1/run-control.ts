import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { cancelRun } from '../../../src/automation/cancel-run.ts';
import { retryRun } from '../../../src/automation/retry-run.ts';
import { getOutput } from '../../../src/automation/runs.ts';
import type { Services } from '../../../src/services.ts';
import { success } from '../../envelopes.ts';
import { idempotencyHeader, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { answer, failures } from '../../schemas/answers.ts';
import { acceptedSchema, retrySchema, runDetailSchema, stepOutputSchema } from '../../schemas/run.ts';
import { type ApiEnv, surface } from '../../surface.ts';

const tags = ['Runs'];
const security = [{ bearer: [] }, { apiKey: [] }];
const id = z.string().openapi({ param: { name: 'id', in: 'path' }, description: 'uuid or run_…' });
const stepId = z.string().openapi({ param: { name: 'stepId', in: 'path' }, description: 'Id of a step.' });

/** What can be done with a run once it was started. */
export function runControlRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const execute = requireKey(services, 'runs:execute');

  const cancel = createRoute({
    method: 'post',
    path: '/runs/{id}/cancel',
    tags,
    security,
    summary: 'Cancel a run; one that has ended stays as it is',
    middleware: [execute] as const,
    request: { params: z.object({ id }) },
    responses: { 200: answer('The run as it is now.', runDetailSchema), ...failures(404, 503) },
  });
  const retry = createRoute({
    method: 'post',
    path: '/runs/{id}/retry',
    tags,
    security,
    summary: 'Run again what failed, with the outputs of the steps before it',
    middleware: [execute, jsonBody({ optional: true })] as const,
    request: {
      params: z.object({ id }),
      headers: idempotencyHeader,
      body: { content: { 'application/json': { schema: retrySchema } } },
    },
    responses: { 200: answer('The new run.', acceptedSchema), ...failures(404, 409, 413, 415, 422, 503) },
  });
  const output = createRoute({
    method: 'get',
    path: '/runs/{id}/outputs/{stepId}',
    tags,
    security,
    summary: "Read one step's output, whatever its size",
    middleware: [requireKey(services, 'runs:read')] as const,
    request: { params: z.object({ id, stepId }) },
    responses: { 200: answer('The output.', stepOutputSchema), ...failures(404) },
  });

  const routes = surface();
  routes.openapi(cancel, async (c) => {
    const { run, stop } = await cancelRun(services, c.get('scope'), c.req.valid('param').id);
    services.background.run('cancellation of a run', stop());
    return c.json(success(c.get('dialect').runDetail(run)), 200);
  });
  routes.openapi(retry, async (c) => {
    const { fromStep } = c.req.valid('json') ?? {};
    const idempotency = readIdempotency(c);
    const run = await retryRun(services, c.get('scope'), c.req.valid('param').id, { fromStep, idempotency });
    services.background.run('start of a run', run.launch());
    if (run.replayed) c.header('Idempotent-Replayed', 'true');
    return c.json(success(c.get('dialect').accepted(run)), 200);
  });
  routes.openapi(output, async (c) => {
    const { id: runId, stepId: ofStep } = c.req.valid('param');
    return c.json(success({ stepId: ofStep, output: await getOutput(c.get('scope'), runId, ofStep) }), 200);
  });
  return routes;
}
