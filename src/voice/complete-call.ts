import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { Files, StoredFile } from '../storage/index.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { type VoiceJobServices, voiceJob } from './job.ts';
import { type StoredTranscript, voiceContents } from './sealed-call.ts';

export interface EndServices extends VoiceJobServices {
  files: Pick<Files, 'store' | 'record' | 'remove'>;
  sealer: Sealer;
}

/** Speech is kept as long as the Idempotency-Key of its request, and an hour for a caller who reads it at that moment. */
const speechKeptMs = 25 * 3_600_000;

// The name of the recording stays in the row: it reveals nothing once the file is removed.
const complete = statement({
  name: 'voice.complete',
  parameters: { id: 'uuid', name: 'text?', transcript: 'text?' },
  row: { price: 'smallint', file: 'text?' },
  text: `update voice_call set status = 'completed', file = coalesce(:name, file), transcript = :transcript,
          request = null, finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
   returning price, file`,
});

/** The result of a provider for a call. */
export type Made = { speech: StoredFile } | { transcript: StoredTranscript };

/**
 * Records the result: it, its file and its charge are one transaction. A transcribed recording is removed.
 * @returns false when the call had ended before; the file of speech is then removed by the sweep
 */
export function completeCall(services: EndServices, scope: Scope, ref: JobRef, made: Made): Promise<boolean> {
  const { files, sealer } = services;
  const speech = 'speech' in made ? made.speech : null;
  const transcript =
    'transcript' in made ? voiceContents(sealer, scope).seal(ref.id, 'transcript', made.transcript) : null;
  return voiceJob.end(services, scope, ref, async ({ tx, settleCredits }) => {
    const ended = await tx.one(complete, { id: ref.id, name: speech?.name ?? null, transcript });
    if (!ended) return false;
    if (speech) await files.record(tx, speech, new Date(clock.now() + speechKeptMs));
    else if (ended.file !== null) await files.remove(tx, [ended.file]);
    await settleCredits(ended.price);
    return true;
  });
}
