import { AppError } from '../platform/errors.ts';

/** `full`: no space is left. `unavailable`: the storage does not work. `too_large`: the content exceeds its limit. */
export type StorageFailureReason = 'full' | 'unavailable' | 'too_large';

const messages: Record<StorageFailureReason, string> = {
  full: 'The file storage is full.',
  unavailable: 'The file storage is not available at the moment.',
  too_large: 'The file is too large.',
};

/** A file that could not be stored or read. Nothing of it is left behind that the sweep does not remove. */
export class StorageFailure extends AppError {
  override name = 'StorageFailure';
  readonly reason: StorageFailureReason;

  constructor(reason: StorageFailureReason, cause?: unknown) {
    if (reason === 'too_large') super('payload_too_large', messages[reason]);
    else super('service_unavailable', messages[reason], undefined, { retryAfter: 1 });
    this.reason = reason;
    this.cause = cause;
  }
}

const outOfSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** A failure of a disk or bucket, with the error as its cause. */
export function storageFailure(error: unknown): StorageFailure {
  if (error instanceof StorageFailure) return error;
  return new StorageFailure(
    outOfSpace.has((error as NodeJS.ErrnoException).code ?? '') ? 'full' : 'unavailable',
    error,
  );
}
