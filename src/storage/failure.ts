import { AppError, type Facts } from '../platform/errors.ts';

/**
 * `full`: no space is left. `missing`: there is no such bucket. `unavailable`: the storage does not work, and may work soon.
 * `too_large`: the content exceeds its limit.
 */
export type StorageFailureReason = 'full' | 'missing' | 'unavailable' | 'too_large';

/** When a retry makes sense, in seconds: a full or missing storage waits for an operator. */
const retryAfterSeconds = { full: 60, missing: 60, unavailable: 5 };

const messages: Record<StorageFailureReason, string> = {
  full: 'The file storage is full.',
  missing: 'The file storage is not set up.',
  unavailable: 'The file storage is not available at the moment.',
  too_large: 'The file is too large.',
};

/** A file that could not be stored or read. The sweep removes any remains. */
export class StorageFailure extends AppError {
  override name = 'StorageFailure';
  readonly reason: StorageFailureReason;

  constructor(reason: StorageFailureReason, cause?: unknown) {
    if (reason === 'too_large') super('payload_too_large', messages[reason]);
    else super('service_unavailable', messages[reason], undefined, { retryAfter: retryAfterSeconds[reason] });
    this.reason = reason;
    this.cause = cause;
  }
}

const outOfSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

function reasonOf(error: unknown): StorageFailureReason {
  const { code, name } = error as { code?: string; name?: string };
  if (code !== undefined && outOfSpace.has(code)) return 'full';
  const causes = [name, code, (error as { cause?: { name?: string } }).cause?.name];
  return causes.includes('NoSuchBucket') ? 'missing' : 'unavailable';
}

/** A failure of a disk or bucket, with the error as its cause. */
export function storageFailure(error: unknown): StorageFailure {
  if (error instanceof StorageFailure) return error;
  return new StorageFailure(reasonOf(error), error);
}

/** The failure of work after a failure of the storage, for callers that wait for that work. */
export const storageAway = (message: string, facts?: Facts): AppError =>
  new AppError('service_unavailable', message, facts, { retryAfter: retryAfterSeconds.unavailable });
