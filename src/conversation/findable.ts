import type { FindableRows } from '../platform/findable.ts';
import { messageWorkflowId } from '../temporal/contracts/conversation.ts';
import { creditKey } from './end-message.ts';

/** What operators find of chats and agents, for a day. */
export const findableMessages: FindableRows = {
  kind: 'message',
  table: 'conversation_message',
  state: 'r.status',
  reason: `(r.error->>'code') || ': ' || (r.error->>'message')`,
  facts: `jsonb_build_object(
    'type', r.kind, 'model', r.model, 'hasTools', r.has_tools, 'calledDirectlyUntil', r.asked_until,
    'credits', r.credits, 'createdAt', r.created_at, 'finishedAt', r.finished_at)`,
  workflowId: messageWorkflowId,
  creditKey,
};
