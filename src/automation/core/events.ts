import { defineEvent } from '../../platform/core/event-type.ts';

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

export const runStarted = defineEvent('workflow.run.started', runData);
export const runCompleted = defineEvent('workflow.run.completed', runData);
export const runFailed = defineEvent('workflow.run.failed', runData);
export const runCancelled = defineEvent('workflow.run.cancelled', runData);
