import { defineEvent } from '../../platform/core/event-type.ts';
import { batchIds } from './ids.ts';

/** What is known of a run when one of its events is published. Ids are UUIDs. */
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

/** What is known of a batch of runs when it has ended. */
export interface BatchFacts {
  batchId: string;
  automationId: string;
  name: string | null;
  status: string;
  counts: Record<string, number>;
}

export const batchCompleted = defineEvent('batch.completed', (facts: BatchFacts) => ({
  id: batchIds.format(facts.batchId),
  workflowId: facts.automationId,
  name: facts.name,
  status: facts.status,
  counts: facts.counts,
}));

export const runStarted = defineEvent('workflow.run.started', runData);
export const runCompleted = defineEvent('workflow.run.completed', runData);
export const runFailed = defineEvent('workflow.run.failed', runData);
export const runCancelled = defineEvent('workflow.run.cancelled', runData);
