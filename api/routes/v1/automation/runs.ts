import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import { getRun, listRuns } from '../../../../src/automation/runs.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { runStatusWords } from '../../../dialects/automation/dialect.ts';
import { automationDialect, variantOfExecution } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity, runFailure } from '../../../schemas/answers.ts';
import {
  acceptedSchema,
  executedSchema,
  executeSchema,
  runDetailSchema,
  runListSchema,
} from '../../../schemas/automation/run.ts';
import {
  acceptedExamples,
  exampleRunIds,
  executedExamples,
  executionExamples,
  runDetailExamples,
  runListExamples,
} from '../../../schemas/automation/run-examples.ts';
import { runLinks } from '../../../schemas/automation/run-links.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { pageQuery } from '../../../schemas/pagination.ts';
import { executeRun } from './execute-run.ts';

const tags = ['Runs'];
const mayRead = keySecurity('runs:read');

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
    security: keySecurity('runs:execute'),
    operationId: 'executeWorkflow',
    summary: 'Execute a workflow',
    description: [
      'Dialect A waits for the end, dialect B answers at once; `async` says otherwise. The workflow must be active, or the',
      'answer is 400 `workflow_inactive` (`workflow_disabled` in dialect B). With an Idempotency-Key a second request',
      'attaches to the same run.',
    ].join(' '),
    middleware: [
      requireKey(services, 'runs:execute'),
      jsonBody({ optional: true, variantOf: variantOfExecution }),
    ] as const,
    request: {
      params: idInPath(exampleWorkflowIds),
      headers: idempotencyHeader,
      body: { content: jsonContent(executeSchema, executionExamples) },
    },
    responses: {
      200: answer('The run, at its end or, when nobody waits for that, at its start.', executedSchema, {
        examples: executedExamples,
        links: runLinks,
        replayable: true,
      }),
      202: answer('The run goes on; waiting for it took too long.', acceptedSchema, {
        examples: acceptedExamples,
        links: runLinks,
        replayable: true,
      }),
      ...failures(404, 413, 415, 422),
      500: runFailure,
    },
  });
  const list = createRoute({
    method: 'get',
    path: '/workflows/{id}/runs',
    tags,
    security: mayRead,
    operationId: 'listWorkflowRuns',
    summary: "List a workflow's runs, newest first",
    description: 'Those that are still going on are among them.',
    middleware: [read] as const,
    request: { params: idInPath(exampleWorkflowIds), query: z.object({ ...pageQuery, status: statusQuery }) },
    responses: { 200: answer('The page.', runListSchema, { examples: runListExamples }), ...failures(404) },
  });
  const get = createRoute({
    method: 'get',
    path: '/runs/{id}',
    tags,
    security: mayRead,
    operationId: 'getRun',
    summary: 'Read a run',
    description: 'Dialect B shows what became of each step. A run whose workflow was deleted is gone.',
    middleware: [read] as const,
    request: { params: idInPath(exampleRunIds) },
    responses: { 200: answer('The run.', runDetailSchema, { examples: runDetailExamples }), ...failures(404) },
  });

  const routes = newRoutes();
  routes.openapi(execute, async (c) => {
    const { id } = c.req.valid('param');
    const body = c.req.valid('json');
    const idempotency = readIdempotency(c);
    const result = await executeRun(services, c.get('scope'), automationDialect(c), id, body, idempotency);
    markReplayed(c, result.replayed);
    if (result.kind === 'failed') throw result.failure;
    if (result.kind === 'unfinished') return c.json(success(result.data), 202);
    return c.json(success(result.data), 200);
  });
  routes.openapi(list, async (c) => {
    const { limit = c.get('dialect').defaultLimit, offset = 0, status } = c.req.valid('query');
    const page = await listRuns(c.get('scope'), c.req.valid('param').id, { status, limit, offset });
    return c.json(success(automationDialect(c).runList(page)), 200);
  });
  routes.openapi(get, async (c) => {
    const run = await getRun(c.get('scope'), c.req.valid('param').id);
    return c.json(success(automationDialect(c).runDetail(run)), 200);
  });
  return routes;
}
