import type { Sealer } from '../platform/crypto.ts';
import type { TenantSql } from '../platform/sql.ts';
import type { AudioFormat } from '../providers/core/speech/audio-format.ts';
import type { SpeechRequest, Transcript } from '../providers/index.ts';

/** What is to be transcribed, beside the file itself. */
export interface TranscriptionRequest {
  format: AudioFormat;
  /** As it was measured here. */
  seconds: number;
  /** Two letters in lower case; absent: the provider detects it. */
  language?: string;
}

/** A transcription as it is returned. */
export interface StoredTranscript extends Transcript {
  /** Of the recording, as it was measured here. */
  seconds: number;
}

/** Everything that is sealed, by the column that has it. */
interface Contents {
  request: SpeechRequest | TranscriptionRequest;
  transcript: StoredTranscript;
}

/** Seals what was said, and opens it again. Each text opens in its own row alone. @throws SealError */
export const voiceContents = (sealer: Sealer, { tenant }: Pick<TenantSql, 'tenant'>) => {
  const placeOf = (rowId: string, column: string) => ({ table: 'voice_call', column, rowId, tenant });
  return {
    seal: <Column extends keyof Contents>(callId: string, column: Column, value: Contents[Column]): string =>
      sealer.seal(JSON.stringify(value), placeOf(callId, column)),
    open: <Column extends keyof Contents>(callId: string, column: Column, sealed: string): Contents[Column] =>
      JSON.parse(sealer.open(sealed, placeOf(callId, column))),
  };
};
