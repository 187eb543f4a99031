import type { Sealer } from '../platform/crypto.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { MessageError, MessageStatus } from './core/status.ts';
import { messageFailed } from './errors.ts';
import { type MessageReply, sealedMessage } from './sealed-message.ts';

/** A turn that has ended, or where it stands. */
export interface Turn {
  id: string;
  status: MessageStatus;
  model: string;
  hasTools: boolean;
  /** Whether the tools are known that its model is offered. */
  hasBegun: boolean;
  /** Of a completed one. */
  reply: MessageReply | undefined;
  error: MessageError | null;
  /** What was charged. */
  credits: number | null;
}

type MessageRow = Omit<Turn, 'reply'> & { reply: string | null };

const find = statement<MessageRow>(
  'turn.find',
  `select id, status, model, has_tools as "hasTools", not has_tools or tools is not null as "hasBegun", reply, error, credits
     from conversation_message where organization_id = $1 and environment = $2 and id = $3`,
);

/** @returns undefined when it was removed, a day after it began */
export async function findMessage(sealer: Sealer, scope: Scope, turnId: string): Promise<Turn | undefined> {
  const row = await scope.one(find, turnId);
  if (!row) return undefined;
  return {
    ...row,
    reply: row.reply === null ? undefined : sealedMessage(sealer, scope).open(turnId, 'reply', row.reply),
  };
}

/** A turn with a reply. */
export type AnsweredMessage = Turn & { reply: MessageReply; credits: number };

/** @returns undefined while it has not ended @throws AppError when it has no reply */
export function answerOf(turn: Turn): AnsweredMessage | undefined {
  if (turn.status === 'processing') return undefined;
  if (turn.status !== 'completed') throw messageFailed(turn.error);
  return turn as AnsweredMessage;
}
