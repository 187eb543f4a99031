import type { TemporalClient } from '../../temporal/client.ts';
import {
  actionWorkflowId,
  integrationWorkflows,
  type PerformActionArgs,
} from '../../temporal/contracts/integrations.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { Fairness } from '../../temporal/contracts/work-context.ts';

/** Starts the workflow of an action. Harmless when it was started before, even when it is over. */
export const startPerformAction = (
  temporal: TemporalClient,
  args: PerformActionArgs,
  fairness: Fairness,
  summary: string,
): Promise<void> =>
  temporal.start({
    type: integrationWorkflows.performAction,
    workflowId: actionWorkflowId(args.actionId),
    queue: queues.integrations,
    // Nobody waits for what is to be done later.
    priority: args.dueAt === undefined ? priorities.prompt : priorities.retry,
    args,
    resourceId: args.actionId,
    summary,
    fairness,
    once: true,
  });
