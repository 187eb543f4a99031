import type { AudioFormat } from '../core/speech/audio-format.ts';
import type { Voice } from '../core/speech/voices.ts';
import type { Call } from '../ports.ts';

export interface SpeechRequest {
  /** Not blank, at most 4,096 code points. */
  text: string;
  voice: Voice;
  /** 0.25 to 4; 1 is the pace of the voice. The pitch stays as it is. */
  speed: number;
}

/** Speech as a file on the local disk: MP3. */
export interface MadeSpeech {
  path: string;
  /** The length of the file. */
  seconds: number;
  /** Removes the file. The caller has to call it. */
  discard(): Promise<void>;
}

export interface SpeechModel {
  /**
   * Makes one attempt. A failure is retryable only if the provider certainly did no work: it refused the connection or
   * the rate. Any other attempt may have been billed.
   * @throws ProviderFailure, or the signal's reason once it is aborted
   */
  speak(request: SpeechRequest, call: Call): Promise<MadeSpeech>;
}

/** A recording as a file on the local disk. */
export interface Recording {
  path: string;
  format: AudioFormat;
  /** Its length, as it was measured here. */
  seconds: number;
  /** The spoken language, two letters of ISO 639-1 in lower case; undefined: the model detects it. */
  language: string | undefined;
  /** Names and words that are spoken, where the caller knows some. */
  prompt?: string | undefined;
}

export interface Transcript {
  /** May be empty. */
  text: string;
  /** Two letters of ISO 639-1 in lower case: the detected language, else the requested one, else `en`. */
  language: string;
}

export interface TranscriptionModel {
  /** As `speak`. */
  transcribe(recording: Recording, call: Call): Promise<Transcript>;
}
