import { WorkQueueFull } from '../platform/bounded-work/task.ts';
import { isDatabaseUnavailable } from '../platform/database/database-errors.ts';
import { AppError } from '../platform/errors.ts';
import { StorageFailure } from './failure.ts';

/** Whether the same attempt may succeed later, because the process lacks a resource at the moment. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof WorkQueueFull ||
  error instanceof StorageFailure ||
  (error instanceof AppError && error.code === 'service_unavailable') ||
  isDatabaseUnavailable(error);

/** Attempts after which an error that is not temporary is final. */
export const unexpectedAttempts = 5;
