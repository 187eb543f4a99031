import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { countTokens } from '../tenancy/index.ts';
import { messagePrice } from './core/prices.ts';
import type { MessageError } from './core/status.ts';
import { dropEntries, type MessageJobServices, messageJob } from './job.ts';
import { messageUse } from './message-use.ts';
import { type MessageReply, sealedMessage } from './sealed-message.ts';

const complete = statement({
  name: 'message.complete',
  parameters: { messageId: 'uuid', reply: 'text', credits: 'smallint', tokens: 'bigint' },
  row: { id: 'uuid', kind: 'text', model: 'text', keyId: 'uuid?' },
  counts: ({ kind, model, keyId }, { tokens, credits }) =>
    messageUse({ kind, model, keyId, tokens: Number(tokens), credits }),
  text: `with ended as (
     update conversation_message
        set status = 'completed', reply = :reply, credits = :credits, request = null, tools = null,
            streamed_text = null, finished_at = atelier_now()
      where organization_id = :organizationId and environment = :environment and id = :messageId and status = 'processing'
      returning id, kind, model, key_id),
   dropped as (${dropEntries}),
   counted as (${countTokens(':tokens', 'ended')})
   select id, kind, model, key_id as "keyId" from ended`,
});

/** The use of a reply: tokens that were not counted yet, and whether tools were called. */
interface Completion {
  reply: MessageReply;
  tokens: number;
}

/**
 * Records a reply: it, its charge and its tokens are one transaction.
 * @returns false when the message had ended before
 */
export function completeMessage(
  services: MessageJobServices,
  scope: Scope,
  ref: JobRef,
  { reply, tokens }: Completion,
): Promise<boolean> {
  const { id } = ref;
  const amount = messagePrice(reply.toolCalls.length > 0);
  const sealed = sealedMessage(services.sealer, scope).seal(id, 'reply', reply);
  return messageJob.end(services, scope, ref, async ({ tx, settleCredits }) => {
    if (!(await tx.one(complete, { messageId: id, reply: sealed, credits: amount, tokens }))) return false;
    await settleCredits(amount);
    return true;
  });
}

/** The reply differs from the beginning that was sent to its reader. */
export const contradicted: MessageError = {
  code: 'provider_error',
  message: 'The model was interrupted and began another answer. Send the message again.',
};

/**
 * Ends a message without a charge because its model began again and its text differs from the text that was sent to the
 * reader.
 * @returns the error for the reader
 */
export async function interruptMessage(services: MessageJobServices, scope: Scope, id: string): Promise<MessageError> {
  await messageJob.stopWith(services, scope, { id, waiter: null }, contradicted);
  return contradicted;
}
