import { type AtelierError, ConflictError, ConnectionError, TimeoutError } from './errors.ts';

/** A `Retry-After` above this is not waited for. */
const maxRetryAfterSeconds = 60;
const firstPauseMs = 500;
const maxPauseMs = 8_000;
/** The longest pause that the service can have a stream make before it is opened anew. */
export const maxRequestedPauseMs = maxRetryAfterSeconds * 1_000;

const passingStatuses: readonly (number | null)[] = [408, 429, 502, 503, 504];

/** The facts about the call whose attempt failed. */
export interface Attempts {
  /** The number of attempts. */
  made: number;
  /** Whether the first attempt used a key that this call made: a conflict is then its own attempt, still in progress. */
  madeKey: boolean;
}

/** Whether a failure may pass, so that the same request can succeed. */
function mayPass(error: AtelierError, { made, madeKey }: Attempts): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (passingStatuses.includes(error.status)) return true;
  if (!(error instanceof ConflictError)) return false;
  if (error.code !== null) return error.code.toLowerCase() === 'idempotency_in_progress';
  // Failures of chat have no codes.
  return error.status === 409 && madeKey && made > 1;
}

/**
 * How long to wait in milliseconds before a failed request is repeated: the wait that the service requests, or an
 * exponential pause with jitter. Undefined if it must not be repeated.
 */
export function pauseBeforeRetry(error: AtelierError, attempts: Attempts): number | undefined {
  if (!mayPass(error, attempts)) return undefined;
  if (error.retryAfter !== null) return error.retryAfter > maxRetryAfterSeconds ? undefined : error.retryAfter * 1_000;
  return pauseAfter(attempts.made);
}

/** An exponential pause with jitter after so many failures, in milliseconds. */
export function pauseAfter(failures: number): number {
  const whole = Math.min(firstPauseMs * 2 ** (failures - 1), maxPauseMs);
  return whole * (0.5 + Math.random() / 2);
}

/** The longest time of a timer. One that is set to more fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** Calls `then` after a time of any length, in milliseconds. @returns how that is called off */
export function after(ms: number, then: () => void): () => void {
  let left = ms;
  let timer: ReturnType<typeof setTimeout>;
  const wait = () => {
    const next = Math.min(left, maxTimerMs);
    left -= next;
    timer = setTimeout(left > 0 ? wait : then, next);
  };
  wait();
  return () => clearTimeout(timer);
}

/** Resolves after a time. @throws the reason of `signal` when it is aborted before */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
