import type { TemporalClient } from '../../temporal/client.ts';
import {
  actionWorkflowId,
  integrationWorkflows,
  type PerformActionArgs,
} from '../../temporal/contracts/integrations.ts';
import { actionPriorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { Fairness } from '../../temporal/contracts/work-context.ts';
import type { ActionPriority } from '../integration.ts';

/** Starts the workflow of an action. Harmless when it was started before, even when it is over. */
export const startPerformAction = (
  temporal: TemporalClient,
  args: PerformActionArgs,
  { fairness, summary, priority }: { fairness: Fairness; summary: string; priority: ActionPriority },
): Promise<void> =>
  temporal.start({
    type: integrationWorkflows.performAction,
    workflowId: actionWorkflowId(args.actionId),
    queue: queues.integrations,
    priority: actionPriorities[args.dueAt === undefined ? 'now' : 'later'][priority],
    args,
    resourceId: args.actionId,
    summary,
    fairness,
    once: true,
  });

/** Asks the workflow of an action to stop. Harmless when it is over or was never started. */
export const cancelPerformAction = (temporal: TemporalClient, actionId: string): Promise<void> =>
  temporal.cancel(actionWorkflowId(actionId));
