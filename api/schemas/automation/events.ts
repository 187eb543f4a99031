import { z } from '@hono/zod-openapi';
import { approvalAnswered, approvalExpired, approvalRequested } from '../../../src/automation/core/approvals.ts';
import {
  batchCompleted,
  type RunFacts,
  runCancelled,
  runCompleted,
  runFailed,
  runStarted,
} from '../../../src/automation/core/events.ts';
import { documentEvent } from '../webhooks/event.ts';
import { approvalSchema, exampleAnswered, exampleApproval } from './approval.ts';
import { batchCounts } from './batch.ts';

const data = (status: string) =>
  z.object({
    id: z.uuid().openapi({ description: 'The run. `GET /v1/runs/{id}` returns its output or its error.' }),
    workflowId: z.uuid(),
    workflowName: z.string(),
    status: z.literal(status),
    durationMs: z.int(),
    tokensUsed: z.int(),
  });

const facts = (status: string, done: Pick<RunFacts, 'durationMs' | 'tokensUsed'>): RunFacts => ({
  runId: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
  automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
  name: 'Summarize',
  status,
  ...done,
});
const begun = { durationMs: 0, tokensUsed: 0 };
const done = { durationMs: 1_840, tokensUsed: 41 };

export const runEvents = [
  documentEvent(runStarted, 'A run started', data('RUNNING'), facts('running', begun)),
  documentEvent(runCompleted, 'A run completed', data('COMPLETED'), facts('completed', done)),
  documentEvent(runFailed, 'A run failed', data('FAILED'), facts('failed', done)),
  documentEvent(
    batchCompleted,
    'All runs of a batch have ended',
    z.object({
      id: z.string(),
      workflowId: z.uuid(),
      name: z.string().nullable(),
      status: z.enum(['completed', 'cancelled']),
      counts: batchCounts,
    }),
    {
      batchId: '0199dddd-1111-2222-a333-444455556666',
      automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
      name: 'Nightly',
      status: 'completed',
      counts: { total: 2, reused: 0, skipped: 0, queued: 0, running: 0, completed: 2, failed: 0, cancelled: 0 },
    },
  ),
  documentEvent(runCancelled, 'A run was cancelled', data('CANCELLED'), facts('cancelled', done)),
];

const asked = approvalSchema.omit({ form: true });
const { form: _, ...requested } = exampleApproval;
const { form: __, ...answered } = exampleAnswered;

export const approvalEvents = [
  documentEvent(approvalRequested, 'A run asks for an approval', asked, requested),
  documentEvent(approvalAnswered, 'An approval was answered', asked, answered),
  documentEvent(
    approvalExpired,
    'Nobody answered an approval in time',
    asked,
    Object.assign({}, requested, { status: 'expired' as const }),
  ),
];
