import { resourceDeleted } from '../platform/database/idempotency.ts';
import { AppError } from '../platform/errors.ts';
import { storageAway } from '../storage/index.ts';

/** A published sentence about a request. The answer contains nothing else. */
export const refused = (sentence: string) => new AppError('validation_error', sentence);

/** The published sentence where no provider of voice has credentials. */
export const notConfigured = (facts: AppError['facts']) =>
  new AppError('provider_not_configured', 'Voice service not configured', facts);

/** The error for the caller of a failed call: one sentence, whatever the cause. */
export const callFailed = () => new AppError('ai_provider_error', 'The voice service failed. Nothing was charged.');

/** The same where our own storage failed. */
export const storageFailed = () => storageAway('The file storage is not available. Nothing was charged.');

/** The error for a request whose call was removed while it waited. */
export const callGone = resourceDeleted;
