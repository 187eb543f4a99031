import { findableJob } from '../jobs/core/findable.ts';
import { messageContract } from '../temporal/contracts/conversation.ts';

/** What operators find of chats and agents, for a day. */
export const findableMessages = findableJob(messageContract, {
  kind: 'message',
  table: 'conversation_message',
  facts: `jsonb_build_object(
    'type', r.kind, 'model', r.model, 'hasTools', r.has_tools, 'calledDirectlyUntil', r.asked_until,
    'credits', r.credits, 'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
});
