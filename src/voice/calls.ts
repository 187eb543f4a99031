import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import type { VoiceCallError, VoiceCallStatus } from './core/status.ts';
import { type StoredTranscript, voiceContents } from './sealed-call.ts';

/** The result of a call that has ended, or its status. */
export interface Call {
  id: string;
  status: VoiceCallStatus;
  /** In credits. */
  price: number;
  /** The name of the speech in the storage, once it exists. */
  file: string | null;
  /** The transcript of a recording. */
  transcript: StoredTranscript | undefined;
  error: VoiceCallError | null;
}

const find = statement({
  name: 'voice.find',
  parameters: { callId: 'uuid' },
  row: {
    id: 'uuid',
    status: typed<VoiceCallStatus>('text'),
    price: 'smallint',
    file: 'text?',
    transcript: 'text?',
    error: typed<VoiceCallError | null>('jsonb?'),
  },
  text: `select id, status, price, file, transcript, error from voice_call
    where organization_id = :organizationId and environment = :environment and id = :callId`,
});

/** @returns undefined when it was removed, a day after it began */
export async function findCall(sealer: Sealer, scope: Scope, callId: string): Promise<Call | undefined> {
  const row = await scope.one(find, { callId });
  if (!row) return undefined;
  const { transcript: sealed } = row;
  const transcript = sealed === null ? undefined : voiceContents(sealer, scope).open(callId, 'transcript', sealed);
  return { ...row, transcript };
}
