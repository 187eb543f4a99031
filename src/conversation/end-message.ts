import { settleCredits, voidCredits } from '../credits/index.ts';
import type { Sealer } from '../platform/crypto.ts';
import { releaseClaim } from '../platform/idempotency.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { countTokens } from '../tenancy/index.ts';
import { messagePrice } from './core/prices.ts';
import { type MessageError, messageStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import type { MessageEvents } from './message-events.ts';
import { type MessageReply, sealedMessage } from './sealed-message.ts';

export interface EndServices {
  sealer: Sealer;
  messageEvents: MessageEvents;
}

/** Whose end it is, and the channel of the process that waits for it. */
export interface Ending {
  turnId: string;
  waiter: string | null;
}

/** The key of a turn's reservation. */
export const creditKey = (turnId: string) => `turn:${turnId}`;

// What only the work needed is forgotten with it.
const dropEntries = `delete from conversation_entry e using ended
   where e.organization_id = $1 and e.environment = $2 and e.message_id = ended.id`;

const complete = statement<{ notified: unknown }>(
  'turn.complete',
  `with ended as (
     update conversation_message
        set status = 'completed', reply = $4::text, credits = $5::smallint, request = null, tools = null,
            streamed_text = null, finished_at = clock_timestamp()
      where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
      returning id),
   dropped as (${dropEntries}),
   counted as (${countTokens('$6::bigint', 'ended')})
   select case when $7::text is not null then pg_notify($7, $3::text) end as notified from ended`,
);

const stop = statement<{ request: string; notified: unknown }>(
  'turn.stop',
  `with open as (
     select id, request from conversation_message
      where organization_id = $1 and environment = $2 and id = $3 and status in (${messageStates.sql('processing')})
        for no key update),
   ended as (
     update conversation_message t
        set status = $4::text, error = $5::jsonb, request = null, tools = null, streamed_text = null, finished_at = clock_timestamp()
       from open where t.organization_id = $1 and t.environment = $2 and t.id = open.id and t.status = 'processing'
     returning t.id),
   dropped as (${dropEntries})
   select open.request, case when $6::text is not null then pg_notify($6, $3::text) end as notified
     from open join ended on ended.id = open.id`,
);

/** What a reply has used: tokens that were not counted yet, and whether tools were called. */
export interface Completion {
  reply: MessageReply;
  tokens: number;
}

/**
 * Records a reply: it, its charge and its tokens are one transaction.
 * @returns false when the turn had ended before
 */
export async function completeMessage(
  { sealer, messageEvents }: EndServices,
  scope: Scope,
  { turnId, waiter }: Ending,
  { reply, tokens }: Completion,
): Promise<boolean> {
  const amount = messagePrice(reply.toolCalls.length > 0);
  const sealed = sealedMessage(sealer, scope).seal(turnId, 'reply', reply);
  const done = await scope.transaction(async (tx) => {
    const values = [sealed, amount, tokens, messageEvents.remoteChannel(waiter)];
    if (!(await tx.one(complete, turnId, ...values))) return false;
    await settleCredits(tx, { key: creditKey(turnId), amount });
    return true;
  });
  failPoint('turn.recorded');
  messageEvents.notifyChange(turnId);
  return done;
}

/**
 * Ends a turn without a reply and gives its credits back, in one transaction. Where it was refused before it began, its
 * Idempotency-Key is free again.
 * @param error null when it was cancelled
 * @returns false when it had ended before
 */
export async function stopMessage(
  { sealer, messageEvents }: EndServices,
  scope: Scope,
  { turnId, waiter }: Ending,
  error: MessageError | null,
): Promise<boolean> {
  const stopped = await scope.transaction(async (tx) => {
    const status = error ? 'failed' : 'cancelled';
    const values = [status, error && JSON.stringify(error), messageEvents.remoteChannel(waiter)];
    const ended = await tx.one(stop, turnId, ...values);
    if (!ended) return false;
    await voidCredits(tx, { key: creditKey(turnId) });
    if (error?.code === 'tools_unavailable') {
      const { claim } = sealedMessage(sealer, scope).open(turnId, 'request', ended.request);
      if (claim) await releaseClaim(tx, claim, turnId);
    }
    return true;
  });
  messageEvents.notifyChange(turnId);
  return stopped;
}

/** The reply differs from the beginning that was sent to its reader. */
export const contradicted: MessageError = {
  code: 'provider_error',
  message: 'The model was interrupted and began another answer. Send the message again.',
};

/**
 * Ends a turn, without a charge, whose model began again with a text that differs from what was sent to its reader.
 * @returns the error for the reader
 */
export async function interruptMessage(services: EndServices, scope: Scope, turnId: string): Promise<MessageError> {
  await stopMessage(services, scope, { turnId, waiter: null }, contradicted);
  return contradicted;
}
