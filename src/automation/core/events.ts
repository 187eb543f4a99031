import { defineEvent } from '../../platform/core/event-type.ts';
import { integer, object, oneOf, orNull, text, uuid } from '../../platform/core/json-schema.ts';
import { type BatchCounts, batchStates } from './batch-status.ts';
import { batchIds } from './ids.ts';

/** The facts about a run when one of its events is published. Ids are UUIDs. */
export interface RunFacts {
  runId: string;
  automationId: string;
  name: string;
  status: string;
  durationMs: number;
  tokensUsed: number;
}

/** Ids and statuses in dialect A's form, whichever dialect the tenant's keys use. */
const runData = ({ runId, automationId, name, status, durationMs, tokensUsed }: RunFacts) => ({
  id: runId,
  workflowId: automationId,
  workflowName: name,
  status: status.toUpperCase(),
  durationMs,
  tokensUsed,
});

const defineRunEvent = (status: string, type: string, description: string) =>
  defineEvent({
    type,
    description,
    since: '2026-11-21',
    data: runData,
    members: {
      id: uuid('The run. `GET /v1/runs/{id}` returns its output or its error.'),
      workflowId: uuid(),
      workflowName: text(),
      status: oneOf([status.toUpperCase()]),
      durationMs: integer('The time from its start to its end; 0 when it starts.'),
      tokensUsed: integer(),
    },
    example: {
      runId: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
      automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
      name: 'Summarize',
      status,
      durationMs: status === 'running' ? 0 : 1_840,
      tokensUsed: status === 'running' ? 0 : 41,
    },
  });

export const runStarted = defineRunEvent('running', 'workflow.run.started', 'A run started.');
export const runCompleted = defineRunEvent('completed', 'workflow.run.completed', 'A run completed.');
export const runFailed = defineRunEvent('failed', 'workflow.run.failed', 'A run failed.');
export const runCancelled = defineRunEvent('cancelled', 'workflow.run.cancelled', 'A run was cancelled.');

/** The facts about a batch of runs when it has ended. */
interface BatchFacts {
  batchId: string;
  automationId: string;
  name: string | null;
  status: string;
  counts: BatchCounts;
}

export const batchCompleted = defineEvent({
  type: 'batch.completed',
  description: 'All runs of a batch have ended.',
  since: '2026-11-23',
  data: (facts: BatchFacts) => ({
    id: batchIds.format(facts.batchId),
    workflowId: facts.automationId,
    name: facts.name,
    status: facts.status,
    counts: facts.counts,
  }),
  members: {
    id: text('The batch, as `batch_…`.'),
    workflowId: uuid(),
    name: orNull(text()),
    status: oneOf(batchStates.terminal),
    counts: object<BatchCounts>({
      total: integer(),
      reused: integer('Items whose Idempotency-Key had started a run before.'),
      skipped: integer('Items that were skipped because of the concurrency of the workflow.'),
      queued: integer(),
      running: integer(),
      completed: integer(),
      failed: integer(),
      cancelled: integer(),
    }),
  },
  example: {
    batchId: '0199dddd-1111-2222-a333-444455556666',
    automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
    name: 'Nightly',
    status: 'completed',
    counts: { total: 2, reused: 0, skipped: 0, queued: 0, running: 0, completed: 2, failed: 0, cancelled: 0 },
  },
});
