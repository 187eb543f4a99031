import { defineJob } from '../jobs/index.ts';
import { releaseClaim } from '../platform/database/idempotency.ts';
import { statement } from '../platform/database/sql.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import { type MessagePolicy, messageContract } from '../temporal/contracts/conversation.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { conversationLimits } from './core/limits.ts';
import { type MessageError, messageStates } from './core/status.ts';
import type { MessageKind } from './entities.ts';
import { failPoint } from './fail-points.ts';
import type { MessageEvents } from './message-events.ts';
import { sealedMessage } from './sealed-message.ts';

export interface MessageJobServices {
  sealer: Sealer;
  messageEvents: MessageEvents;
  messagePolicy: MessagePolicy;
}

const isOpen = `status in (${messageStates.sql('processing')})`;

/** What only the work needed is removed when it ends: of the rows in `ended`, in SQL. */
export const dropEntries = `delete from conversation_entry e using ended
   where e.organization_id = :organizationId and e.environment = :environment and e.message_id = ended.id`;

const stop = statement({
  name: 'message.stop',
  parameters: { messageId: 'uuid', status: 'text', error: 'jsonb?' },
  row: { request: 'text' },
  text: `with open as (
     select id, request from conversation_message
      where organization_id = :organizationId and environment = :environment and id = :messageId and ${isOpen}
        for no key update),
   ended as (
     update conversation_message t
        set status = :status, error = :error, request = null, tools = null, streamed_text = null, finished_at = atelier_now()
       from open where t.organization_id = :organizationId and t.environment = :environment and t.id = open.id and t.status = 'processing'
     returning t.id),
   dropped as (${dropEntries})
   select open.request from open join ended on ended.id = open.id`,
});

/** A message to a model or an agent, and its reply. */
export const messageJob = defineJob<{
  services: MessageJobServices;
  policy: MessagePolicy;
  row: object;
  hint: { waiter: string; streams: boolean; isInstant: boolean };
  /** Null: it was cancelled. */
  error: MessageError | null;
}>({
  contract: messageContract,
  plural: 'messages',
  table: 'conversation_message',
  isOpen,
  failPoints: failPoint.names,
  policy: ({ messagePolicy }) => messagePolicy,
  waiters: ({ messageEvents }) => ({
    notifyRemote: (tx, id, waiter) => messageEvents.waiters.notifyRemote(tx, id, waiter),
    notifyLocal: (id) => messageEvents.notifyChange(id),
  }),
  deadline: { ms: ({ deadlineMs }) => [deadlineMs] },
  limit: conversationLimits.openMessages,
  errors: {
    timeout: { code: 'timeout', message: 'The model did not answer in time.' },
    terminated: { code: 'provider_error', message: 'The message was terminated by an operator.' },
    unexpected: { code: 'provider_error', message: 'Something went wrong on our side.' },
    cancelled: null,
  },
  async stop({ sealer }, { tx, voidCredits }, { id }, error) {
    const ended = await tx.one(stop, {
      messageId: id,
      status: error ? 'failed' : 'cancelled',
      error: error && JSON.stringify(error),
    });
    if (!ended) return false;
    await voidCredits();
    // It was refused before it began, which does not use the Idempotency-Key up.
    if (error?.code === 'tools_unavailable') {
      const { claim } = sealedMessage(sealer, tx).open(id, 'request', ended.request);
      if (claim) await releaseClaim(tx, claim, id);
    }
    return true;
  },
  start: {
    // Includes a job that failed before its workflow began: the workflow fails too, so that operators find it.
    isPending: `status in (${messageStates.sql('processing', 'failed')})`,
    options: (_, { streams, isInstant } = { waiter: '', streams: false, isInstant: false }) => ({
      priority: priorities.prompt,
      args: { streams, isInstant },
    }),
  },
  forget: { also: 'entries as (delete from conversation_entry e using old where e.message_id = old.id)' },
  gauges: { name: 'messages', title: 'Messages to models', kinds: ['chat', 'agent'] satisfies MessageKind[] },
});
