import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { type Batch, cancelBatch, getBatch, listBatches } from '../../../../src/automation/batches/batches.ts';
import { createBatch } from '../../../../src/automation/batches/create-batch.ts';
import { batchIds, workflowIds } from '../../../../src/automation/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  type BatchItemBody,
  batchExamples,
  batchListExamples,
  batchListSchema,
  batchSchema,
  createdBatchExamples,
  createdBatchSchema,
  exampleBatchId,
  newBatchExamples,
  newBatchSchema,
} from '../../../schemas/automation/batch.ts';
import { readRunOptions } from '../../../schemas/automation/run-options.ts';
import { exampleWorkflowIds } from '../../../schemas/automation/workflow-examples.ts';
import { idInPath, prefixedIdInPath } from '../../../schemas/ids.ts';
import { listOf, pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';

const maxBytes = 4 * 1024 * 1024;
const params = prefixedIdInPath('batchId', exampleBatchId);

const links = {
  Batch: { operationId: 'getBatch', parameters: { batchId: '$response.body#/data/batchId' } },
  Cancel: { operationId: 'cancelBatch', parameters: { batchId: '$response.body#/data/batchId' } },
};

function readItem(body: BatchItemBody) {
  const { idempotencyKey, ...rest } = body;
  const { input, variables, inputs, ...options } = rest;
  const values =
    inputs === undefined
      ? { input: { value: input }, variables: variables ?? {} }
      : { input: 'whole' as const, variables: inputs };
  return { ...values, options: readRunOptions(options), idempotencyKey, body: rest };
}

const toAnswer =
  (c: ApiContext) =>
  ({ id, automationId, createdAt, completedAt, ...batch }: Batch): z.input<typeof batchSchema> => ({
    ...batch,
    id: batchIds.format(id),
    workflowId: c.get('dialect').variant === 'A' ? automationId : workflowIds.format(automationId),
    createdAt: createdAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  });

/** Batches: many runs of a workflow in one request. */
export function batchRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Runs', key: requireKey(services, 'runs:execute') });
  const read = requireKey(services, 'runs:read');

  const create = operation({
    method: 'post',
    path: '/workflows/{id}/batch',
    operationId: 'createBatch',
    'x-client-method': 'batches.create',
    summary: 'Execute a workflow many times',
    description:
      'Starts a run for each of up to 1,000 items, in a body of up to 4 MiB: all of them, or none if one is invalid or the day has too few runs left. `GET /runs?batchId=` lists the runs. A webhook of the type `batch.completed` is notified when all have ended.',
    params: idInPath(exampleWorkflowIds),
    body: jsonContent(newBatchSchema, newBatchExamples),
    maxBytes,
    idempotent: true,
    answers: {
      202: answer('The runs were accepted.', createdBatchSchema, {
        examples: createdBatchExamples,
        links,
        replayable: true,
      }),
    },
  });
  const list = operation({
    method: 'get',
    path: '/batches',
    operationId: 'listBatches',
    'x-client-method': 'batches.list',
    summary: 'List batches',
    description: 'Newest first.',
    key: read,
    query: z.object(pageQuery),
    answers: { 200: answer('A page of batches.', batchListSchema, { examples: batchListExamples }) },
  });
  const get = operation({
    method: 'get',
    path: '/batches/{batchId}',
    operationId: 'getBatch',
    'x-client-method': 'batches.get',
    summary: 'Retrieve a batch',
    description: 'Returns how many of its runs are in each status.',
    key: read,
    params,
    answers: { 200: answer('Returns the batch.', batchSchema, { examples: batchExamples }) },
  });
  const cancel = operation({
    method: 'post',
    path: '/batches/{batchId}/cancel',
    operationId: 'cancelBatch',
    'x-client-method': 'batches.cancel',
    summary: 'Cancel a batch',
    description: 'Cancels its runs that have not ended. A batch that has ended stays as it is.',
    params,
    answers: { 200: answer('Returns the batch.', batchSchema, { examples: batchExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(create, async (c) => {
    const { items, name = null } = c.req.valid('json');
    const batch = { name, items: items.map(readItem) };
    const made = await createBatch(services, c.get('scope'), c.req.valid('param').id, batch, readIdempotency(c));
    markReplayed(c, made.replayed);
    return c.json(success({ batchId: batchIds.format(made.outcome.id), total: made.outcome.total }), 202);
  });
  routes.openapi(list, async (c) => {
    const page = await listBatches(c.get('scope'), withPageDefaults(c, c.req.valid('query')));
    return c.json(success(listOf('batches', page, toAnswer(c))), 200);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(c)(await getBatch(c.get('scope'), c.req.valid('param').batchId))), 200);
  });
  routes.openapi(cancel, async (c) => {
    const batch = await cancelBatch(services, c.get('scope'), c.req.valid('param').batchId);
    return c.json(success(toAnswer(c)(batch)), 200);
  });
  return routes;
}
