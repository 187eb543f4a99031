import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { cancelRun } from '../../../../src/automation/runs/cancel-run.ts';
import { changeRun } from '../../../../src/automation/runs/change-run.ts';
import { deleteRun } from '../../../../src/automation/runs/remove-runs.ts';
import { retryRun } from '../../../../src/automation/runs/retry-run.ts';
import { getOutput } from '../../../../src/automation/runs/runs.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { automationDialect } from '../../../dialects/automation.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { alsoForTokens, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import {
  acceptedSchema,
  retrySchema,
  runChangeSchema,
  runDetailSchema,
  stepOutputSchema,
} from '../../../schemas/automation/run.ts';
import {
  acceptedExamples,
  exampleRunIds,
  retryExamples,
  runChangeExamples,
  runDetailExamples,
  stepOutputExamples,
} from '../../../schemas/automation/run-examples.ts';
import { runLinks } from '../../../schemas/automation/run-links.ts';
import { idInPath } from '../../../schemas/ids.ts';
import { namedRunInPath } from './named-runs.ts';

const params = idInPath(exampleRunIds);
const stepId = z
  .string()
  .openapi({ param: { name: 'stepId', in: 'path', example: 'summarize' }, description: 'The id of the step.' });

export function runControlRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const execute = requireKey(services, 'runs:execute');

  const operation = operationsOf({ tag: 'Runs', key: execute });

  const cancel = operation({
    method: 'post',
    path: '/runs/{id}/cancel',
    operationId: 'cancelRun',
    'x-client-method': 'runs.cancel',
    summary: 'Cancel a run',
    key: alsoForTokens(requireKey(services, 'runs:execute')),
    description: 'Completed steps keep their results. Cancelling a run that has ended changes nothing.',
    params,
    answers: { 200: answer('Returns the run.', runDetailSchema, { examples: runDetailExamples }) },
  });
  const retry = operation({
    method: 'post',
    path: '/runs/{id}/retry',
    operationId: 'retryRun',
    'x-client-method': 'runs.retry',
    summary: 'Retry a run',
    description:
      'Starts a new run from the failed step, reusing the outputs of the steps before it; in a map or parallel step that failed, it also reuses the items and branches that completed. `path` names a step within others. A step whose outcome is unknown keeps the idempotency keys of its earlier run. `definition: "current"` uses the definition that the workflow has now, and reuses outputs by the ids of the steps. A run that has completed needs `fromStep`; one that has not ended is answered with 409 `conflict`.',
    params,
    body: jsonContent(retrySchema, retryExamples),
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      200: answer('Returns the new run.', acceptedSchema, {
        examples: acceptedExamples,
        links: runLinks,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const remove = operation({
    method: 'delete',
    path: '/runs/{id}',
    operationId: 'deleteRun',
    'x-client-method': 'runs.delete',
    summary: 'Delete a run',
    description:
      'Deletes a run that has ended, with its outputs and their files. Retries of the run stay. A run that has not ended is answered with 409 `conflict`: cancel it first.',
    params,
    answers: { 200: deletedAnswer('The run was deleted.') },
    failures: [409],
  });
  const change = operation({
    method: 'patch',
    path: '/runs/{id}',
    operationId: 'updateRun',
    'x-client-method': 'runs.update',
    summary: 'Update a run',
    description:
      'Changes the tags and the metadata of a run at any time, and when it begins while its delay lasts; afterwards `startAt` is answered with 409 `conflict`.',
    params,
    body: jsonContent(runChangeSchema, runChangeExamples),
    answers: { 200: answer('Returns the run.', runDetailSchema, { examples: runDetailExamples }) },
    failures: [409],
  });
  const output = operation({
    method: 'get',
    path: '/runs/{id}/outputs/{stepId}',
    operationId: 'getStepOutput',
    'x-client-method': 'runs.outputs.get',
    summary: 'Retrieve the output of a step',
    description:
      'Returns outputs of any size. Other answers refer to this operation with `{$ref, bytes}` in place of large outputs.',
    key: alsoForTokens(requireKey(services, 'runs:read')),
    params: params.extend({ stepId }),
    query: z.object({
      path: z
        .string()
        .min(1)
        .max(400)
        .optional()
        .openapi({ description: 'For a step within others: its dotted path, as `each.3.ask`.', example: 'summarize' }),
    }),
    answers: { 200: answer('Returns the output.', stepOutputSchema, { examples: stepOutputExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(cancel, async (c) => {
    const run = await cancelRun(services, c.get('scope'), await namedRunInPath(c));
    return c.json(success(automationDialect(c).runDetail(run)), 200);
  });
  routes.openapi(change, async (c) => {
    const { tags, ...fields } = c.req.valid('json');
    const run = await changeRun(c.get('scope'), c.req.valid('param').id, {
      ...fields,
      tags: tags && [...new Set(tags)],
    });
    return c.json(success(automationDialect(c).runDetail(run)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteRun(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  routes.openapi(retry, async (c) => {
    const { fromStep, path, definition } = c.req.valid('json') ?? {};
    const idempotency = readIdempotency(c);
    const run = await retryRun(services, c.get('scope'), c.req.valid('param').id, {
      fromStep,
      path,
      definition,
      idempotency,
    });
    markReplayed(c, run.replayed);
    return c.json(success(automationDialect(c).accepted(run)), 200);
  });
  routes.openapi(output, async (c) => {
    const { stepId: ofStep } = c.req.valid('param');
    const runId = await namedRunInPath(c);
    const found = await getOutput(services.files, c.get('scope'), runId, ofStep, c.req.valid('query').path);
    const head = `{"success":true,"data":{"stepId":${JSON.stringify(ofStep)},"output":`;
    const body = Buffer.concat([head, found, '}}'].map((part) => Buffer.from(part)));
    return c.body(body, 200, { 'content-type': 'application/json' }) as never;
  });
  return routes;
}
