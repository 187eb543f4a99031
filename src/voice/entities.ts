import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { VoiceCallError, VoiceCallStatus } from './core/status.ts';

/** Text to speech, or speech to text. */
export type VoiceKind = 'tts' | 'stt';

/**
 * One request for speech or for a transcription, and what became of it. Texts are sealed. The row and the speech are removed
 * when the Idempotency-Key of the request is forgotten, an uploaded recording as soon as the call has ended.
 */
export const VoiceCall = defineEntity({
  name: 'VoiceCall',
  tableName: 'voice_call',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    kind: p.string().length(3).$type<VoiceKind>(),
    status: p.string().length(10).$type<VoiceCallStatus>(),
    /** In credits: reserved from the beginning, and charged when it is completed. */
    price: p.smallint(),
    /** A sealed `SpeechRequest` or `TranscriptionRequest`. Forgotten when the call ends. */
    request: p.text().nullable(),
    /** The stored file: the recording while it is transcribed, the speech once it is made. */
    file: p.string().length(48).nullable(),
    /** A sealed `StoredTranscript`. */
    transcript: p.text().nullable(),
    error: p.json<VoiceCallError>().nullable(),
    /** The time of the request to a provider that may charge for each attempt. */
    submittedAt: p.datetime().nullable(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'voice_call_open_index', properties: ['createdAt'], where: `status = 'processing'` },
    {
      name: 'voice_call_tenant_open_index',
      properties: ['organizationId', 'environment'],
      where: `status = 'processing'`,
    },
    { name: 'voice_call_created_index', properties: ['createdAt'] },
  ],
});
export type VoiceCall = InferEntity<typeof VoiceCall>;
