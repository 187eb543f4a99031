// This file is generated from the OpenAPI document.

import type { Form, RequestOptions } from '../../core/options.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class Voice extends Resource {
  /**
   * Turn text into speech.
   *
   * Costs 1 credit for each started 1,000 characters, which are code points. A failure costs nothing. Messages of
   * 400, in the order of the checks: `Text is required`, `Text too long`, `Invalid voice`, `Invalid speed`.
   * Disconnecting does not cancel a request: the same Idempotency-Key returns the speech for 24 hours, or 409
   * until there is one.
   */
  speak(body: NonNullable<api.CreateSpeechData['body']>, options?: RequestOptions): Promise<Blob> {
    return this.transport.call(sdk.createSpeech, { body }, { answer: 'bytes', isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Transcribe a recording.
   *
   * Accepts MP3, MP4, M4A, WAV, WebM and MPEG audio, whatever the name of the file: at most 25 MB and 30 minutes.
   * Costs 2 credits for each started minute of the measured length. A failure costs nothing. Messages of 400, in
   * the order of the checks: `Audio file is required`, `File too large`, `Unsupported format`, `Audio too long`,
   * `Invalid language`. A form that cannot be read is `Invalid request body`. Disconnecting does not cancel a
   * request: the same Idempotency-Key returns the transcription for 24 hours, or 409 until there is one. The file
   * is deleted when it is transcribed.
   */
  transcribe(body: Form<api.CreateTranscriptionData['body']>, options?: RequestOptions): Promise<api.Transcription> {
    return this.transport.call(sdk.createTranscription, { body }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }
}
