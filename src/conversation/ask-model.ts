import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { MessageProgress } from '../temporal/contracts/conversation.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { toExecute } from '../tools/index.ts';
import { type AskCall, type AskServices, askOpenMessage } from './ask-open-message.ts';
import type { MessageFailure } from './core/status.ts';
import type { MessageEvents } from './message-events.ts';
import { findOpenMessage, type OpenMessage, readRounds } from './open-message.ts';
import { type SealedMessage, sealedMessage } from './sealed-message.ts';

const findFailure = statement({
  name: 'message.failure',
  parameters: { messageId: 'uuid' },
  row: { code: typed<MessageFailure>('text') },
  text: `select error ->> 'code' as code from conversation_message
    where organization_id = :organizationId and environment = :environment and id = :messageId and status = 'failed'`,
});

/** How often a message is read whose model another process calls, because a notification can be lost. */
const lookEveryMs = 2_000;

/**
 * An open message, once the process that created it no longer calls its model.
 * @returns undefined when it has ended. @throws the reason of `signal`
 */
async function findWithoutDirectCall(
  { messageEvents }: { messageEvents: MessageEvents },
  scope: Scope,
  columns: SealedMessage,
  messageId: string,
  signal: AbortSignal,
): Promise<OpenMessage | undefined> {
  const watch = messageEvents.waiters.watch(messageId);
  try {
    for (;;) {
      const open = await findOpenMessage(scope, columns, messageId);
      const leftMs = open?.askedForMs ?? 0;
      if (leftMs <= 0) return open;
      await watch.changed(Math.min(leftMs, lookEveryMs), signal);
      signal.throwIfAborted();
    }
  } finally {
    watch.close();
  }
}

/**
 * Calls the model of a message once, and records its answer: a round of calls of tools, or the reply with its charge.
 * Safe to repeat: a recorded round is not requested again. While the process that created the message calls the model,
 * this waits.
 * @param call.attempt of the activity, from 1
 * @throws ProviderFailure while another attempt may succeed; errors of the database; the reason of `signal`
 */
export async function askModel(
  services: AskServices,
  scope: Scope,
  ref: JobRef,
  call: AskCall,
): Promise<MessageProgress> {
  const { id: messageId } = ref;
  const columns = sealedMessage(services.sealer, scope);
  const open = await findWithoutDirectCall(services, scope, columns, messageId, call.signal);
  if (!open) {
    const failure = await scope.one(findFailure, { messageId });
    return failure ? { kind: 'failed', code: failure.code } : { kind: 'ended' };
  }
  const rounds = open.hasTools ? await readRounds(scope, columns, messageId) : [];
  const recorded = rounds.find(({ round }) => round === call.round);
  if (recorded) return { kind: 'calls', calls: toExecute(recorded, open.tools ?? []) };
  // A call by the process that created the message counts as the first attempt.
  const attempt = open.askedForMs === null ? call.attempt : call.attempt + 1;
  return askOpenMessage(services, scope, ref, { open, rounds }, { ...call, attempt });
}
