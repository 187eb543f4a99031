import { sealedColumns } from '../platform/security/sealed-columns.ts';
import type { AudioFormat } from '../providers/core/speech/audio-format.ts';
import type { SpeechRequest, Transcript } from '../providers/index.ts';

/** The facts for a transcription besides the file itself. */
export interface TranscriptionRequest {
  format: AudioFormat;
  /** As it was measured here. */
  seconds: number;
  /** Two letters in lower case; absent: the provider detects it. */
  language?: string;
  /** Hints for the provider: names and words that are spoken. Absent without hints. */
  prompt?: string;
}

/** A transcription as it is returned. */
export interface StoredTranscript extends Transcript {
  /** The length of the recording, as it was measured here. */
  seconds: number;
}

/** A transcription as endpoints and steps of workflows return it. */
export const transcriptionRecord = ({ text, seconds, language }: StoredTranscript) => ({
  text,
  duration: seconds,
  language,
});

export const voiceContents = sealedColumns<{
  request: SpeechRequest | TranscriptionRequest;
  transcript: StoredTranscript;
}>('voice_call');
