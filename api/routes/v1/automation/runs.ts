import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { runIds } from '../../../../src/automation/core/ids.ts';
import { runNotFound } from '../../../../src/automation/errors.ts';
import { createRun } from '../../../../src/automation/runs/create-run.ts';
import { listRuns } from '../../../../src/automation/runs/run-list.ts';
import { getInput, getRun } from '../../../../src/automation/runs/runs.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { runStatusWords } from '../../../dialects/automation/dialect.ts';
import { automationDialect, variantOfExecution } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { alsoForTokens, requireKey, requireKeyAndId } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import { runFailure } from '../../../schemas/automation/failures.ts';
import {
  acceptedSchema,
  executedSchema,
  executeSchema,
  runDetailSchema,
  runInputSchema,
  runListSchema,
} from '../../../schemas/automation/run.ts';
import {
  acceptedExamples,
  exampleRunIds,
  executedExamples,
  executionExamples,
  runDetailExamples,
  runInputExamples,
  runListExamples,
} from '../../../schemas/automation/run-examples.ts';
import { runLinks } from '../../../schemas/automation/run-links.ts';
import { testRunExamples, testRunSchema } from '../../../schemas/automation/test-run.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';
import { executeAndWait, testWorkflow } from './await-run.ts';
import { checkStart, namedRunInPath } from './named-runs.ts';

const statusQuery = z
  .string()
  .transform((text) => runStatusWords.get(text.toLowerCase()))
  .refine((status) => status !== undefined, 'Expected a run status.')
  .optional()
  .openapi({
    type: 'string',
    // In one case: generators of clients give names to the values that differ in more than case.
    enum: [...runStatusWords.keys()],
    description: 'A run status of either dialect; `pending` and `queued` are the same. Read in upper or lower case.',
  });

export function runRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const read = requireKey(services, 'runs:read');
  const oneRun = { ...runIds, notFound: runNotFound };
  const readOne = requireKeyAndId(services, oneRun, 'runs:read');

  const operation = operationsOf({ tag: 'Runs', key: readOne });

  const execute = operation({
    method: 'post',
    path: '/workflows/{id}/execute',
    operationId: 'executeWorkflow',
    'x-client-method': 'workflows.execute',
    summary: 'Execute a workflow',
    description: [
      'By default dialect A waits until the run has ended and dialect B returns immediately; `async` overrides this. An',
      'inactive workflow is answered with 400 `workflow_inactive` (`workflow_disabled` in dialect B). A second request with',
      'the same Idempotency-Key returns the same run; 409 `conflict` once that run was deleted.',
    ].join(' '),
    key: alsoForTokens(requireKey(services, 'runs:execute')),
    params: idInPath(exampleWorkflowIds),
    body: jsonContent(executeSchema, executionExamples),
    bodyIsOptional: true,
    variantOf: variantOfExecution,
    idempotent: true,
    answers: {
      200: answer('Returns the run: ended, or just started for an asynchronous request.', executedSchema, {
        examples: executedExamples,
        links: runLinks,
        replayable: true,
      }),
      202: answer('The run did not end within the time the API waits. It is still running.', acceptedSchema, {
        examples: acceptedExamples,
        links: runLinks,
        replayable: true,
      }),
      500: runFailure,
    },
    failures: [409],
  });
  const test = operation({
    method: 'post',
    path: '/workflows/{id}/test',
    operationId: 'testWorkflow',
    'x-client-method': 'workflows.test',
    summary: 'Test a workflow',
    description:
      'Executes the workflow in the sandbox, whatever the environment of the key is, and waits until the run has ended, at most 60 seconds. Nothing is sent, charged or counted, and no events are published. Steps of type wait, event and approval complete at once. The run has `isTest`, and is listed by `GET /runs?test=true` alone.',
    key: requireKey(services, 'runs:execute'),
    params: idInPath(exampleWorkflowIds),
    body: jsonContent(testRunSchema, testRunExamples),
    idempotent: true,
    answers: {
      200: answer('Returns the run, whether it completed or failed.', runDetailSchema, {
        examples: runDetailExamples,
        replayable: true,
      }),
    },
  });
  const list = operation({
    method: 'get',
    path: '/workflows/{id}/runs',
    operationId: 'listWorkflowRuns',
    'x-client-method': 'workflows.runs.list',
    summary: 'List runs of a workflow',
    description:
      'Newest first, including runs in progress. Values of more than 16 KiB are replaced by `{$ref, bytes}`; so are all outputs of a run that have more together.',
    key: read,
    params: idInPath(exampleWorkflowIds),
    query: z.object({ ...pageQuery, status: statusQuery }),
    answers: { 200: answer('A page of runs.', runListSchema, { examples: runListExamples }) },
  });
  const get = operation({
    method: 'get',
    path: '/runs/{id}',
    operationId: 'getRun',
    'x-client-method': 'runs.get',
    summary: 'Retrieve a run',
    key: alsoForTokens(requireKeyAndId(services, oneRun, 'runs:read')),
    description:
      'With the result of each step; of a run that has ended, steps that were not reached are `skipped`. Deleting a workflow deletes its runs.',
    params: idInPath(exampleRunIds),
    answers: { 200: answer('Returns the run.', runDetailSchema, { examples: runDetailExamples }) },
  });

  const input = operation({
    method: 'get',
    path: '/runs/{id}/input',
    operationId: 'getRunInput',
    'x-client-method': 'runs.input.get',
    summary: 'Retrieve the input of a run',
    description:
      'Returns the input and the variables of a run, of any size. Other answers refer to this operation with `{$ref, bytes}` in place of large ones.',
    params: idInPath(exampleRunIds),
    answers: { 200: answer('Returns the input.', runInputSchema, { examples: runInputExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(input, async (c) => {
    const { id } = c.req.valid('param');
    return c.json(success(await getInput(c.get('scope'), id)), 200);
  });
  routes.openapi(execute, async (c) => {
    const { id } = c.req.valid('param');
    const [scope, caller, dialect] = [c.get('scope'), c.get('caller'), automationDialect(c)];
    const idempotency = readIdempotency(c);
    const { wait, ...asked } = dialect.readExecution(c.req.valid('json'));
    checkStart(caller, id, asked.options?.tags);
    const request = { ...asked, idempotency };
    const skipped = () => success({ ...dialect.skipped(), reason: 'concurrency' as const });
    if (!wait) {
      const run = await createRun(services, scope, id, { ...request, waiter: null });
      markReplayed(c, run.replayed);
      return c.json(run.runId === null ? skipped() : success(dialect.accepted(run)), 200);
    }
    const result = await executeAndWait(services, scope, dialect, { caller, id, request });
    markReplayed(c, result.replayed);
    if (result.kind === 'failed') {
      c.set('failedRun', result.code ?? 'internal_error');
      throw result.failure;
    }
    if (result.kind === 'skipped') return c.json(skipped(), 200);
    return c.json(success(result.data), result.kind === 'unfinished' ? 202 : 200);
  });
  routes.openapi(test, async (c) => {
    const { id } = c.req.valid('param');
    const call = { caller: c.get('caller'), id, body: c.req.valid('json'), idempotency: readIdempotency(c) };
    const dialect = automationDialect(c);
    const { run, replayed } = await testWorkflow(services, c.get('scope'), dialect, call);
    markReplayed(c, replayed);
    return c.json(success(dialect.runDetail(run)), 200);
  });
  routes.openapi(list, async (c) => {
    const { limit, offset, status } = withPageDefaults(c, c.req.valid('query'));
    const page = await listRuns(c.get('scope'), c.req.valid('param').id, { status, limit, offset });
    return c.json(success(automationDialect(c).runList(page)), 200);
  });
  routes.openapi(get, async (c) => {
    const run = await getRun(c.get('scope'), await namedRunInPath(c));
    return c.json(success(automationDialect(c).runDetail(run)), 200);
  });
  return routes;
}
