import type { TemporalClient, WorkflowState } from '../../temporal/client.ts';
import {
  automationWorkflows,
  type BulkActionArgs,
  bulkActionWorkflowId,
  type ExecuteFlowArgs,
  type ExecuteRunArgs,
  type PurgeAutomationArgs,
  purgeWorkflowId,
  runMessages,
  runWorkflowId,
} from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { Fairness } from '../../temporal/contracts/work-context.ts';
import { bulkActionIds, runIds, workflowIds } from '../core/ids.ts';

/** A run's workflow: its type and arguments. Those of flows wait, and outlive the version of the code that they began with. */
export type RunWorkflow =
  | { type: typeof automationWorkflows.executeRun; args: ExecuteRunArgs }
  | { type: typeof automationWorkflows.executeFlow; args: ExecuteFlowArgs };

/** Starts a run's workflow. Harmless when it was started before, even when it is over. @returns whether it was started now */
export const startRunWorkflow = (
  temporal: TemporalClient,
  { type, args }: RunWorkflow,
  automationId: string,
  fairness: Fairness,
): Promise<boolean> =>
  temporal.startUnlessStarted({
    type,
    workflowId: runWorkflowId(args.runId),
    queue: queues.runs,
    priority: priorities.prompt,
    args,
    resourceId: automationId,
    summary: `${runIds.format(args.runId)} of ${workflowIds.format(automationId)}`,
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
    queue: queues.runs,
    priority: priorities.background,
    args,
    resourceId: args.automationId,
    fairness,
    once: true,
  });

/** The same for a bulk action. @param what as operators read it */
export const startBulkActionWorkflow = (
  temporal: TemporalClient,
  args: BulkActionArgs,
  what: string,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: automationWorkflows.performBulkAction,
    workflowId: bulkActionWorkflowId(args.bulkActionId),
    queue: queues.runs,
    priority: priorities.background,
    args,
    resourceId: args.bulkActionId,
    summary: `${bulkActionIds.format(args.bulkActionId)}: ${what}`,
    fairness,
    once: true,
  });

/** Asks the workflow of a bulk action to stop. Harmless when it is over or was never started. */
export const cancelBulkActionWorkflow = (temporal: TemporalClient, id: string): Promise<void> =>
  temporal.cancel(bulkActionWorkflowId(id));

/** Asks a run's workflow to stop. Harmless when it is over or was never started. */
export const cancelRunWorkflow = (temporal: TemporalClient, runId: string): Promise<void> =>
  temporal.cancel(runWorkflowId(runId));

/** Signals a run's workflow that the run has a slot to call out. */
export const proceedRunWorkflow = (temporal: TemporalClient, runId: string): Promise<void> =>
  temporal.signalIfOpen(runWorkflowId(runId), runMessages.proceed);

/** @throws Error when Temporal does not answer in time */
export const runWorkflowState = (temporal: TemporalClient, runId: string): Promise<WorkflowState> =>
  temporal.state(runWorkflowId(runId));
