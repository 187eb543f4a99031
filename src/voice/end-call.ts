import { settleCredits, voidCredits } from '../credits/index.ts';
import type { Sealer } from '../platform/crypto.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Waiters } from '../platform/waiters.ts';
import type { Files, StoredFile } from '../storage/index.ts';
import { type VoiceCallError, voiceCallStates } from './core/status.ts';
import { failPoint } from './fail-points.ts';
import { type StoredTranscript, voiceContents } from './sealed-call.ts';

export interface EndServices {
  files: Pick<Files, 'store' | 'record' | 'remove'>;
  sealer: Sealer;
  waiters: Waiters;
}

/** What the end of a call without a result needs. */
export type StopServices = Pick<EndServices, 'files' | 'waiters'>;

/** Whose end it is, and the channel of another process that waits for it. */
export interface Ending {
  callId: string;
  waiter: string | null;
}

/** The key of a call's reservation. */
export const creditKey = (callId: string) => `voice:${callId}`;

/** Speech is kept as long as the Idempotency-Key of its request, and an hour for whoever reads it at that moment. */
const speechKeptMs = 25 * 3_600_000;

const completeSpeech = statement<{ price: number }>(
  'voice.complete_speech',
  `update voice_call set status = 'completed', file = $4::text, request = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning price`,
);

// The name of the recording stays in the row: it says nothing once the file is gone.
const completeTranscription = statement<{ price: number; file: string | null }>(
  'voice.complete_transcription',
  `update voice_call set status = 'completed', transcript = $4::text, request = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning price, file`,
);

const stop = statement<{ file: string | null }>(
  'voice.stop',
  `update voice_call set status = $4::text, error = $5::jsonb, request = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status in (${voiceCallStates.sql('processing')})
   returning file`,
);

/** What a provider made of a call. */
export type Made = { speech: StoredFile } | { transcript: StoredTranscript };

/**
 * Records what was made: it, its file and its charge are one transaction. A recording that was transcribed is removed.
 * @returns false when the call had ended before; the file of speech is then removed by the sweep
 */
export async function completeCall(services: EndServices, scope: Scope, ending: Ending, made: Made): Promise<boolean> {
  const { callId } = ending;
  const { files, sealer, waiters } = services;
  const done = await scope.transaction(async (tx) => {
    let price: number;
    if ('speech' in made) {
      const ended = await tx.one(completeSpeech, callId, made.speech.name);
      if (!ended) return false;
      await files.record(tx, made.speech, new Date(Date.now() + speechKeptMs));
      ({ price } = ended);
    } else {
      const sealed = voiceContents(sealer, scope).seal(callId, 'transcript', made.transcript);
      const ended = await tx.one(completeTranscription, callId, sealed);
      if (!ended) return false;
      if (ended.file !== null) await files.remove(tx, [ended.file]);
      ({ price } = ended);
    }
    await settleCredits(tx, { key: creditKey(callId), amount: price });
    await waiters.notifyRemote(tx, callId, ending.waiter);
    return true;
  });
  failPoint('voice.recorded');
  waiters.notifyLocal(callId);
  return done;
}

/**
 * Ends a call without a result and gives its credits back, in one transaction.
 * @param error null when it was cancelled
 * @returns false when it had ended before
 */
export async function stopCall(
  services: StopServices,
  scope: Scope,
  ending: Ending,
  error: VoiceCallError | null,
): Promise<boolean> {
  const { callId } = ending;
  const stopped = await scope.transaction(async (tx) => {
    const ended = await tx.one(stop, callId, error ? 'failed' : 'cancelled', error && JSON.stringify(error));
    if (!ended) return false;
    if (ended.file !== null) await services.files.remove(tx, [ended.file]);
    await voidCredits(tx, { key: creditKey(callId) });
    await services.waiters.notifyRemote(tx, callId, ending.waiter);
    return true;
  });
  services.waiters.notifyLocal(callId);
  return stopped;
}
