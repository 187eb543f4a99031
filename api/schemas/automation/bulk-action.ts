import { z } from '@hono/zod-openapi';
import {
  bulkActionStates,
  bulkActionTypes,
  maxBulkErrors,
  maxBulkExamples,
  maxBulkRunIds,
  maxBulkRuns,
} from '../../../src/automation/core/bulk-actions.ts';
import { tagPattern, triggerTypes } from '../../../src/automation/core/starts.ts';
import { retryDefinitions } from '../../../src/automation/runs/retry-run.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { runStatusWords } from '../../dialects/automation/dialect.ts';
import { countedList } from '../counted-list.ts';
import { listSchema } from '../pagination.ts';
import { exampleRunIds } from './run-examples.ts';
import { errorCode } from './run-search.ts';

const id = (description: string) =>
  z
    .string()
    .max(100)
    .optional()
    .openapi({ description: `${description} Both forms of the id are accepted.` });

const time = (description: string) =>
  z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .openapi({ type: 'string', format: 'date-time', description });

const statusWords = [...runStatusWords.keys()];

/** As the query of `GET /runs`. A name that it does not have is refused: a mistyped filter would mean all runs. */
const runFilter = z
  .strictObject({
    workflowId: id('Runs of this workflow.'),
    status: z
      .array(
        z
          .string()
          .transform((word) => runStatusWords.get(word.toLowerCase()))
          .refine((status) => status !== undefined, `Expected one of ${statusWords.join(', ')}.`)
          .openapi({ type: 'string', enum: statusWords }),
      )
      .min(1)
      .max(20)
      .optional()
      .openapi({ description: 'Runs with one of these statuses, of either dialect.' }),
    tag: z
      .array(z.string().regex(tagPattern))
      .min(1)
      .max(20)
      .optional()
      .openapi({ description: 'Runs that have all of these tags.' }),
    from: time('Runs that were created at this time or later.'),
    to: time('Runs that were created before this time.'),
    triggeredBy: z
      .array(z.enum(triggerTypes))
      .min(1)
      .max(20)
      .optional()
      .openapi({ description: 'Runs that one of these started.' }),
    parentRunId: id('Runs that a step of this run started.'),
    batchId: id('Runs of this batch.'),
    version: z.int().min(1).optional().openapi({ description: 'Runs of this version of their workflow.' }),
    errorCode,
    correlationId: z.string().min(1).max(128).optional(),
  })
  .openapi('RunFilter');

export const newBulkActionSchema = z
  .object({
    action: z.enum(bulkActionTypes),
    runIds: countedList(z.array(z.string().min(1).max(100)).min(1).max(maxBulkRunIds), maxBulkRunIds)
      .optional()
      .openapi({ description: 'Ids of runs, in either form. A repeated id counts once.' }),
    filter: runFilter.optional().openapi({
      description: `The same filter as the query of \`GET /runs\`. It selects at most ${maxBulkRuns.toLocaleString('en-US')} runs that match now, and none that matches later.`,
    }),
    definition: z.enum(retryDefinitions).optional().openapi({
      description:
        'The definition that retries use: that of each run (`pinned`, the default), or the current one of its workflow (`current`).',
    }),
    dryRun: z.boolean().optional().openapi({ description: 'Counts the runs and changes nothing.' }),
  })
  .openapi('NewBulkAction', { description: 'Give either `runIds` or `filter`.' });
export type NewBulkActionBody = z.output<typeof newBulkActionSchema>;

const total = z.int().openapi({ description: 'The number of its runs.' });
const status = z.enum(bulkActionStates.all).openapi({ description: describeStates(bulkActionStates) });

export const acceptedBulkActionSchema = z.object({ id: z.string(), status, total }).openapi('AcceptedBulkAction');

export const bulkPreviewSchema = z
  .object({
    total,
    examples: z.array(z.string()).openapi({ description: `The ids of the first ${maxBulkExamples}.` }),
  })
  .openapi('BulkActionPreview');

export const bulkActionSchema = z
  .object({
    id: z.string(),
    action: z.enum(bulkActionTypes),
    definition: z.enum(retryDefinitions).openapi({ description: 'The definition that retries use.' }),
    status,
    counts: z.object({
      total,
      succeeded: z.int().openapi({ description: 'Runs that it cancelled or retried.' }),
      failed: z.int().openapi({ description: 'Runs that could not be cancelled or retried, unknown ones among them.' }),
      skipped: z.int().openapi({ description: 'To cancel: runs that had ended. To retry: runs that had completed.' }),
    }),
    errors: z
      .array(z.object({ runId: z.string(), code: z.string(), message: z.string() }))
      .openapi({ description: `The first ${maxBulkErrors}.` }),
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .openapi('BulkAction');
export const bulkActionListSchema = listSchema('bulkActions', bulkActionSchema);

export const exampleBulkActionId = 'bulk_0199eeee11112222a333444455556666';
export const newBulkActionExamples = {
  A: {
    action: 'retry' as const,
    filter: {
      status: ['failed'],
      errorCode: 'service_unavailable' as const,
      from: '2026-11-20T00:00:00Z',
      to: '2026-11-21T00:00:00Z',
    },
  },
  B: { action: 'cancel' as const, runIds: [exampleRunIds.B] },
};
const accepted = { id: exampleBulkActionId, status: 'pending' as const, total: 120 };
export const acceptedBulkActionExamples = { A: accepted, B: accepted };
export const bulkPreviewExamples = {
  A: { total: 1, examples: [exampleRunIds.A] },
  B: { total: 1, examples: [exampleRunIds.B] },
};
const bulkAction = {
  id: exampleBulkActionId,
  action: 'retry' as const,
  definition: 'pinned' as const,
  status: 'running' as const,
  counts: { total: 120, succeeded: 40, failed: 1, skipped: 2 },
  createdAt: '2026-11-21T09:30:00.000Z',
  completedAt: null,
};
const error = (runId: string) => ({ runId, code: 'workflow_inactive', message: 'The workflow is not active.' });
export const bulkActionExamples = {
  A: { ...bulkAction, errors: [error(exampleRunIds.A)] },
  B: { ...bulkAction, errors: [error(exampleRunIds.B)] },
};
export const bulkActionListExamples = {
  A: { bulkActions: [bulkActionExamples.A], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { bulkActions: [bulkActionExamples.B], pagination: { total: 1, limit: 20, offset: 0, hasMore: false } },
};
