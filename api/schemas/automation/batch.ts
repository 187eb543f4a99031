import { z } from '@hono/zod-openapi';
import { batchStates } from '../../../src/automation/core/batch-status.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { idempotencyKeyPattern } from '../../../src/platform/database/idempotency.ts';
import { countedList } from '../counted-list.ts';
import { freeForm } from '../free-form.ts';
import { listSchema } from '../pagination.ts';
import { text } from '../text.ts';
import { runOptionShape } from './run-options.ts';
import { exampleWorkflowIds } from './workflow-examples.ts';

const maxBatchItems = 1_000;

const item = z
  .object({
    input: z.unknown().optional().openapi({ description: 'The same as in `execute`.' }),
    variables: freeForm.optional(),
    inputs: freeForm.optional().openapi({ description: 'The variables; the whole object is available as {{input}}.' }),
    idempotencyKey: z
      .string()
      .regex(idempotencyKeyPattern, 'Expected 1 to 255 printable ASCII characters.')
      .optional()
      .openapi({
        pattern: '^[!-~]([ -~]*[!-~])?$',
        minLength: 1,
        maxLength: 255,
        description:
          'Shares the scope of the Idempotency-Key of `execute` for the workflow. If the key was used in the last 24 hours, the item refers to the run of that request and counts as `reused`.',
      }),
    ...runOptionShape,
  })
  .openapi('BatchItem');

export const newBatchSchema = z
  .object({
    items: countedList(z.array(item).min(1).max(maxBatchItems), maxBatchItems).openapi({
      description: 'A run is started for each.',
    }),
    name: text(100).optional(),
  })
  .openapi('NewBatch');
export type BatchItemBody = z.output<typeof item>;

export const createdBatchSchema = z.object({ batchId: z.string(), total: z.int() }).openapi('CreatedBatch');

const batchCounts = z.object({
  total: z.int(),
  reused: z.int().openapi({ description: 'Items whose Idempotency-Key had started a run before.' }),
  skipped: z.int().openapi({ description: 'Items that were skipped because of the concurrency of the workflow.' }),
  queued: z.int(),
  running: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
});

export const batchSchema = z
  .object({
    id: z.string(),
    name: z.string().nullable(),
    workflowId: z.string(),
    status: z.enum(batchStates.all).openapi({ description: describeStates(batchStates) }),
    counts: batchCounts,
    createdAt: z.iso.datetime(),
    completedAt: z.iso.datetime().nullable(),
  })
  .openapi('RunBatch');
export const batchListSchema = listSchema('batches', batchSchema);

export const exampleBatchId = 'batch_0199dddd11112222a333444455556666';
const items = [
  { input: 'The sea.', tags: ['night'] },
  { input: 'The moon.', idempotencyKey: 'moon-1' },
];
export const newBatchExamples = {
  A: { items, name: 'Nightly' },
  B: { items: [{ inputs: { text: 'The sea.' } }] },
};
const created = { batchId: exampleBatchId, total: 2 };
export const createdBatchExamples = { A: created, B: created };
const batch = {
  id: exampleBatchId,
  name: 'Nightly',
  status: 'processing' as const,
  counts: { total: 2, reused: 0, skipped: 0, queued: 1, running: 0, completed: 1, failed: 0, cancelled: 0 },
  createdAt: '2026-11-21T09:30:00.000Z',
  completedAt: null,
};
export const batchExamples = {
  A: { ...batch, workflowId: exampleWorkflowIds.A },
  B: { ...batch, workflowId: exampleWorkflowIds.B },
};
export const batchListExamples = {
  A: { batches: [batchExamples.A], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
  B: { batches: [batchExamples.B], pagination: { total: 1, limit: 20, offset: 0, hasMore: false } },
};
