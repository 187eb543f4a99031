import type { ErrorKind, FieldError } from '../../../src/platform/errors.ts';
import { type Envelope, sentenceOf } from '../../envelopes.ts';

const sentences: Partial<Record<ErrorKind, string>> = {
  unauthorized: 'Unauthorized',
  insufficient_credits: 'Insufficient credits',
  forbidden: 'Forbidden',
  method_not_allowed: 'Method not allowed',
  payload_too_large: 'Request too large',
  unsupported_media_type: 'Unsupported content type',
  rate_limit_exceeded: 'Rate limit exceeded',
};

const isAboutBody: (facts: Record<string, unknown> | undefined) => boolean = (facts) =>
  (facts?.errors as FieldError[] | undefined)?.some(({ path }) => path === '') ?? false;

/** A failure of one kind is one sentence, whatever its facts are. */
export const voiceEnvelope: Envelope = (error) => ({
  success: false,
  error: sentences[error.kind] ?? (isAboutBody(error.facts) ? 'Invalid request body' : sentenceOf(error)),
});
