import type { EgressErrorClass } from '../../platform/core/egress-errors.ts';

/** Durations in ms. */
export interface RetryPolicy {
  /** After the first attempt; it doubles with each further one. */
  firstDelayMs: number;
  longestDelayMs: number;
  /** The most that a receiver can ask for. */
  longestRetryAfterMs: number;
  /** Share of the delay that chance adds at most. It only adds: no retry comes before its time. */
  jitter: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  firstDelayMs: 1_000,
  longestDelayMs: 24 * 3_600_000,
  longestRetryAfterMs: 3_600_000,
  jitter: 0.1,
};

/** Two and a half days, in which a receiver can be mended. */
export const defaultMaxAttempts = 19;
export const mostAttempts = 25;

/** @param attempt that failed, from 1 @param chance in [0, 1) @returns whole ms until the next one */
export function retryDelay(attempt: number, chance: number, policy: RetryPolicy = defaultRetryPolicy): number {
  const delay = policy.firstDelayMs * 2 ** (attempt - 1);
  return Math.round(Math.min(delay * (1 + policy.jitter * chance), policy.longestDelayMs));
}

const imfDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads a Retry-After header, seconds or a date.
 * @param now ms since the epoch
 * @returns ms from now; undefined when there is none, it is over or cannot be read
 */
export function readRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const wait = /^\d+$/.test(text) ? Number(text) * 1_000 : imfDate.test(text) ? Date.parse(text) - now : 0;
  return wait > 0 ? wait : undefined;
}

/** The class of what nobody foresaw: it is counted like any failure, so that it does not come again for ever. */
export const unforeseen = 'unforeseen' as const;

/** How an attempt went: a whole answer, or why there is none. */
export type AttemptResult =
  | { status: number; retryAfterMs?: number | undefined; errorClass?: undefined }
  | { errorClass: EgressErrorClass | typeof unforeseen };

export interface AttemptFacts {
  /** Of the current schedule, from 1. */
  attempt: number;
  maxAttempts: number;
  /** In [0, 1). */
  chance: number;
  policy?: RetryPolicy;
}

/** What becomes of a delivery after an attempt, and of its subscription. */
export type Verdict =
  | { status: 'delivered' }
  | { status: 'retrying'; delayMs: number }
  | { status: 'dead_lettered'; disable: boolean }
  | { status: 'failed' };

const gone = 410;

/**
 * What an attempt means. 2xx alone is success. A forbidden destination fails for ever. 410 turns the subscription off.
 * What cannot be sent at all is dead-lettered at once: it waits for whoever mends the subscription.
 */
export function judge(result: AttemptResult, { attempt, maxAttempts, chance, policy }: AttemptFacts): Verdict {
  if (result.errorClass === 'forbidden_destination') return { status: 'failed' };
  if (result.errorClass === 'invalid_request') return { status: 'dead_lettered', disable: false };
  const status = result.errorClass === undefined ? result.status : undefined;
  if (status !== undefined && status >= 200 && status < 300) return { status: 'delivered' };
  if (status === gone) return { status: 'dead_lettered', disable: true };
  if (attempt >= maxAttempts) return { status: 'dead_lettered', disable: false };
  const { longestRetryAfterMs } = policy ?? defaultRetryPolicy;
  const asked = result.errorClass === undefined ? (result.retryAfterMs ?? 0) : 0;
  const delayMs = Math.max(retryDelay(attempt, chance, policy), Math.min(asked, longestRetryAfterMs));
  return { status: 'retrying', delayMs };
}
