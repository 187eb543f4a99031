import type { TemporalClient, WorkflowState } from '../temporal/client.ts';
import { conversationWorkflows, type TakeTurnArgs, turnWorkflowId } from '../temporal/contracts/conversation.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';

/** Starts the workflow of a turn. Harmless when it was started before, even when it is over. */
export const startTakeTurn = (temporal: TemporalClient, args: TakeTurnArgs, fairness: Fairness): Promise<void> =>
  temporal.start({
    type: conversationWorkflows.takeTurn,
    workflowId: turnWorkflowId(args.turnId),
    queue: queues.generation,
    priority: priorities.prompt,
    args,
    resourceId: args.turnId,
    fairness,
    once: true,
  });

/** @throws Error when Temporal does not answer in time */
export const turnWorkflowState = (temporal: TemporalClient, turnId: string): Promise<WorkflowState> =>
  temporal.state(turnWorkflowId(turnId));

/**
 * The turns whose workflows were terminated or timed out since then.
 * @throws Error when Temporal does not answer in time
 */
export async function stoppedTurnIds(temporal: TemporalClient, since: Date): Promise<string[]> {
  const ids = await temporal.workflowIds(
    `TaskQueue = '${temporal.taskQueue(queues.generation)}' AND WorkflowType = '${conversationWorkflows.takeTurn}'
       AND ExecutionStatus IN ('Terminated', 'TimedOut') AND CloseTime >= '${since.toISOString()}'`,
  );
  const prefix = turnWorkflowId('');
  return [...new Set(ids)].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
}
