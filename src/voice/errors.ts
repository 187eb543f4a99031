import { AppError } from '../platform/errors.ts';

/** A published sentence about a request. Nothing but the sentence is told. */
export const refused = (sentence: string) => new AppError('validation_error', sentence);

/** The published sentence where no provider of voice has credentials. */
export const notConfigured = (facts: AppError['facts']) =>
  new AppError('provider_not_configured', 'Voice service not configured', facts);

/** What a caller is told whose call failed: one sentence, whatever the cause. */
export const callFailed = () => new AppError('ai_provider_error', 'The voice service failed. Nothing was charged.');

/** What a request is told whose call was removed while it waited. */
export const callGone = () => new AppError('conflict', 'What this Idempotency-Key made was deleted meanwhile.');
