import type { TemporalClient, WorkflowState } from '../temporal/client.ts';
import {
  automationWorkflows,
  type ExecuteRunArgs,
  type PurgeAutomationArgs,
  purgeWorkflowId,
  runWorkflowId,
} from '../temporal/contracts/automation.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';

/** Starts a run's workflow. Harmless when it was started before, even when it is over. */
export const startExecuteRun = (
  temporal: TemporalClient,
  args: ExecuteRunArgs,
  automationId: string,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: automationWorkflows.executeRun,
    workflowId: runWorkflowId(args.runId),
    args,
    resourceId: automationId,
    fairness,
    once: true,
  });

/** The same for the purge of a deleted workflow. */
export const startPurgeAutomation = (
  temporal: TemporalClient,
  args: PurgeAutomationArgs,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: automationWorkflows.purgeAutomation,
    workflowId: purgeWorkflowId(args.automationId),
    args,
    resourceId: args.automationId,
    fairness,
    once: true,
  });

/** Asks a run's workflow to stop. Harmless when it is over or was never started. */
export const cancelRunWorkflow = (temporal: TemporalClient, runId: string): Promise<void> =>
  temporal.cancel(runWorkflowId(runId));

/** @throws Error when Temporal does not answer in time */
export const runWorkflowState = (temporal: TemporalClient, runId: string): Promise<WorkflowState> =>
  temporal.state(runWorkflowId(runId));
