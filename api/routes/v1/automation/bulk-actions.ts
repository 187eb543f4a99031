import { type OpenAPIHono, z } from '@hono/zod-openapi';
import {
  abortBulkAction,
  type BulkAction,
  getBulkAction,
  listBulkActions,
} from '../../../../src/automation/bulk-actions/bulk-actions.ts';
import {
  type BulkSelection,
  createBulkAction,
  previewBulkAction,
} from '../../../../src/automation/bulk-actions/create-bulk-action.ts';
import { bulkActionIds, runIds } from '../../../../src/automation/core/ids.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  acceptedBulkActionExamples,
  acceptedBulkActionSchema,
  bulkActionExamples,
  bulkActionListExamples,
  bulkActionListSchema,
  bulkActionSchema,
  bulkPreviewExamples,
  bulkPreviewSchema,
  exampleBulkActionId,
  type NewBulkActionBody,
  newBulkActionExamples,
  newBulkActionSchema,
} from '../../../schemas/automation/bulk-action.ts';
import { prefixedIdInPath } from '../../../schemas/ids.ts';
import { listOf, pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';
import { filterOf } from './run-search.ts';

const params = prefixedIdInPath('bulkActionId', exampleBulkActionId);

const links = {
  BulkAction: { operationId: 'getBulkAction', parameters: { bulkActionId: '$response.body#/data/id' } },
  Abort: { operationId: 'abortBulkAction', parameters: { bulkActionId: '$response.body#/data/id' } },
};

/** @throws AppError validation_error */
function readSelection({ runIds: ids, filter }: NewBulkActionBody): BulkSelection {
  if ((ids === undefined) === (filter === undefined)) {
    const message = 'Give either runIds or filter.';
    throw invalid([
      { path: 'runIds', message },
      { path: 'filter', message },
    ]);
  }
  return ids === undefined ? { filter: filterOf(filter!) } : { runIds: ids };
}

/** Ids of runs in the form of the dialect. Texts that are not ids stay unchanged. */
const runIdOf = (c: ApiContext) => (id: string) =>
  c.get('dialect').variant === 'A' || runIds.parse(id) === undefined ? id : runIds.format(id);

const toAnswer =
  (c: ApiContext) =>
  ({ id, errors, createdAt, completedAt, ...rest }: BulkAction): z.input<typeof bulkActionSchema> => ({
    ...rest,
    id: bulkActionIds.format(id),
    errors: errors.map(({ runId, ...error }) => ({ runId: runIdOf(c)(runId), ...error })),
    createdAt: createdAt.toISOString(),
    completedAt: completedAt?.toISOString() ?? null,
  });

/** Bulk actions: many runs that are cancelled or retried by one request. */
export function bulkActionRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Runs', key: requireKey(services, 'runs:execute') });
  const read = requireKey(services, 'runs:read');

  const create = operation({
    method: 'post',
    path: '/bulk-actions',
    operationId: 'createBulkAction',
    'x-client-method': 'bulkActions.create',
    summary: 'Cancel or retry many runs',
    description:
      'Cancels or retries up to 500 runs by their ids, or up to 10,000 that match a filter now. Which runs these are is decided once: `dryRun` shows how many. Two bulk actions of an organization may be open at a time; one more is answered with 409 `conflict`.',
    body: jsonContent(newBulkActionSchema, newBulkActionExamples),
    idempotent: true,
    answers: {
      200: answer('With `dryRun`: how many runs match, and the first of them.', bulkPreviewSchema, {
        examples: bulkPreviewExamples,
        replayable: true,
      }),
      202: answer('The bulk action was accepted.', acceptedBulkActionSchema, {
        examples: acceptedBulkActionExamples,
        links,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const list = operation({
    method: 'get',
    path: '/bulk-actions',
    operationId: 'listBulkActions',
    'x-client-method': 'bulkActions.list',
    summary: 'List bulk actions',
    description: 'Newest first.',
    key: read,
    query: z.object(pageQuery),
    answers: { 200: answer('A page of bulk actions.', bulkActionListSchema, { examples: bulkActionListExamples }) },
  });
  const get = operation({
    method: 'get',
    path: '/bulk-actions/{bulkActionId}',
    operationId: 'getBulkAction',
    'x-client-method': 'bulkActions.get',
    summary: 'Retrieve a bulk action',
    description: 'Returns how many of its runs are done, and its first errors.',
    key: read,
    params,
    answers: { 200: answer('Returns the bulk action.', bulkActionSchema, { examples: bulkActionExamples }) },
  });
  const abort = operation({
    method: 'post',
    path: '/bulk-actions/{bulkActionId}/abort',
    operationId: 'abortBulkAction',
    'x-client-method': 'bulkActions.abort',
    summary: 'Abort a bulk action',
    description: 'Runs that were not processed yet are not changed. A bulk action that has ended stays as it is.',
    params,
    answers: { 200: answer('Returns the bulk action.', bulkActionSchema, { examples: bulkActionExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(create, async (c) => {
    const body = c.req.valid('json');
    const selection = readSelection(body);
    if (body.dryRun) {
      const { total, examples } = await previewBulkAction(c.get('scope'), selection);
      return c.json(success({ total, examples: examples.map(runIdOf(c)) }), 200);
    }
    const { action, definition = 'pinned' } = body;
    const made = await createBulkAction(c.get('scope'), { action, definition, selection }, readIdempotency(c));
    markReplayed(c, made.replayed);
    return c.json(success({ ...made.outcome, id: bulkActionIds.format(made.outcome.id) }), 202);
  });
  routes.openapi(list, async (c) => {
    const page = await listBulkActions(c.get('scope'), withPageDefaults(c, c.req.valid('query')));
    return c.json(success(listOf('bulkActions', page, toAnswer(c))), 200);
  });
  routes.openapi(get, async (c) => {
    const found = await getBulkAction(c.get('scope'), c.req.valid('param').bulkActionId);
    return c.json(success(toAnswer(c)(found)), 200);
  });
  routes.openapi(abort, async (c) => {
    const found = await abortBulkAction(c.get('scope'), c.req.valid('param').bulkActionId);
    return c.json(success(toAnswer(c)(found)), 200);
  });
  return routes;
}
