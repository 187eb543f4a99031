import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { MessageError, MessageStatus } from './core/status.ts';
import { messageFailed } from './errors.ts';
import { type MessageAbout, type MessageReply, sealedMessage } from './sealed-message.ts';

/** A message and its state. */
export interface StoredMessage {
  id: string;
  status: MessageStatus;
  model: string;
  hasTools: boolean;
  /** Whether the tools are known that its model is offered. */
  hasBegun: boolean;
  /** The reply; undefined unless it completed. */
  reply: MessageReply | undefined;
  error: MessageError | null;
  /** Undefined where it cannot be read by its id. */
  about: MessageAbout | undefined;
  /** The charged credits. */
  credits: number | null;
  /** When it ended; null until then. */
  finishedAt: Date | null;
}

const find = statement({
  name: 'message.find',
  parameters: { messageId: 'uuid' },
  row: {
    id: 'uuid',
    status: typed<MessageStatus>('text'),
    model: 'text',
    hasTools: 'boolean',
    hasBegun: 'boolean',
    reply: 'text?',
    about: 'text?',
    error: typed<MessageError | null>('jsonb?'),
    credits: 'smallint?',
    finishedAt: 'timestamptz?',
  },
  text: `select id, status, model, has_tools as "hasTools", not has_tools or tools is not null as "hasBegun", reply, about, error, credits,
          finished_at as "finishedAt"
     from conversation_message where organization_id = :organizationId and environment = :environment and id = :messageId`,
});

/** @returns undefined when it was removed, a day after it began */
export async function findMessage(sealer: Sealer, scope: Scope, messageId: string): Promise<StoredMessage | undefined> {
  const row = await scope.one(find, { messageId });
  if (!row) return undefined;
  const columns = sealedMessage(sealer, scope);
  return {
    ...row,
    about: row.about === null ? undefined : columns.open(messageId, 'about', row.about),
    reply: row.reply === null ? undefined : columns.open(messageId, 'reply', row.reply),
  };
}

/** A message with a reply. */
export type AnsweredMessage = StoredMessage & { reply: MessageReply; credits: number };

/** @returns undefined while it has not ended @throws AppError when it has no reply */
export function answerOf(message: StoredMessage): AnsweredMessage | undefined {
  if (message.status === 'processing') return undefined;
  if (message.status !== 'completed') throw messageFailed(message.error);
  return message as AnsweredMessage;
}
