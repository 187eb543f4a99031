import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { getRun, listRuns } from '../../../src/automation/runs.ts';
import type { Services } from '../../../src/services.ts';
import { runStatusWords } from '../../dialects/dialect.ts';
import { success } from '../../envelopes.ts';
import { executeRun } from '../../execute-run.ts';
import { idempotencyHeader, readIdempotency } from '../../idempotency.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { answer, failures } from '../../schemas/answers.ts';
import { pageQuery } from '../../schemas/pagination.ts';
import { acceptedSchema, executedSchema, executeSchema, runDetailSchema, runListSchema } from '../../schemas/run.ts';
import { type ApiEnv, surface } from '../../surface.ts';

const tags = ['Runs'];
const security = [{ bearer: [] }, { apiKey: [] }];
const idParam = (description: string) =>
  z.object({ id: z.string().openapi({ param: { name: 'id', in: 'path' }, description }) });

const statusQuery = z
  .string()
  .transform((text) => runStatusWords.get(text.toLowerCase()))
  .refine((status) => status !== undefined, 'Expected a status of a run.')
  .optional()
  .openapi({ type: 'string', description: 'A status of either dialect, in either case.' });

export function runRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const read = requireKey(services, 'runs:read');

  const execute = createRoute({
    method: 'post',
    path: '/workflows/{id}/execute',
    tags,
    security,
    summary: 'Execute a workflow',
    middleware: [requireKey(services, 'runs:execute'), jsonBody({ optional: true, choosesDialect: true })] as const,
    request: {
      params: idParam('uuid or wf_…'),
      headers: idempotencyHeader,
      body: { content: { 'application/json': { schema: executeSchema } } },
    },
    responses: {
      200: answer('The run, at its end or, when nobody waits for that, at its start.', executedSchema),
      202: answer('The run goes on; waiting for it took too long.', acceptedSchema),
      ...failures(404, 413, 415, 422, 503),
    },
  });
  const list = createRoute({
    method: 'get',
    path: '/workflows/{id}/runs',
    tags,
    security,
    summary: "List a workflow's runs, newest first",
    middleware: [read] as const,
    request: { params: idParam('uuid or wf_…'), query: z.object({ ...pageQuery, status: statusQuery }) },
    responses: { 200: answer('The page.', runListSchema), ...failures(404) },
  });
  const get = createRoute({
    method: 'get',
    path: '/runs/{id}',
    tags,
    security,
    summary: 'Read a run',
    middleware: [read] as const,
    request: { params: idParam('uuid or run_…') },
    responses: { 200: answer('The run.', runDetailSchema), ...failures(404) },
  });

  const routes = surface();
  routes.openapi(execute, async (c) => {
    const { id } = c.req.valid('param');
    const body = c.req.valid('json');
    const idempotency = readIdempotency(c);
    const result = await executeRun(services, c.get('scope'), c.get('dialect'), id, body, idempotency);
    if (result.replayed) c.header('Idempotent-Replayed', 'true');
    if (result.kind === 'failed') throw result.failure;
    if (result.kind === 'unfinished') return c.json(success(result.data), 202);
    return c.json(success(result.data), 200);
  });
  routes.openapi(list, async (c) => {
    const { limit = c.get('dialect').defaultLimit, offset = 0, status } = c.req.valid('query');
    const page = await listRuns(c.get('scope'), c.req.valid('param').id, { status, limit, offset });
    return c.json(success(c.get('dialect').runList(page)), 200);
  });
  routes.openapi(get, async (c) => {
    const run = await getRun(c.get('scope'), c.req.valid('param').id);
    return c.json(success(c.get('dialect').runDetail(run)), 200);
  });
  return routes;
}
