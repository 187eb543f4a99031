import type { TemporalClient } from '../temporal/client.ts';
import {
  conversationWorkflows,
  messageWorkflowId,
  type ReplyToMessageArgs,
} from '../temporal/contracts/conversation.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';

/** Starts the workflow of a turn. Harmless when it was started before, even when it is over. */
export const startReplyWorkflow = (
  temporal: TemporalClient,
  args: ReplyToMessageArgs,
  fairness: Fairness,
): Promise<void> =>
  temporal.start({
    type: conversationWorkflows.takeTurn,
    workflowId: messageWorkflowId(args.turnId),
    queue: queues.generation,
    priority: priorities.prompt,
    args,
    resourceId: args.turnId,
    fairness,
    once: true,
  });
