import type { EgressErrorClass } from '../../platform/core/egress-errors.ts';

/** Durations in ms. */
export interface RetryPolicy {
  /** The delay after the first attempt. It doubles with each further one. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** The longest Retry-After that is honoured. */
  maxRetryAfterMs: number;
  /** The largest share of the delay that is added at random. */
  jitter: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  firstDelayMs: 1_000,
  maxDelayMs: 24 * 3_600_000,
  maxRetryAfterMs: 3_600_000,
  jitter: 0.1,
};

/** About two and a half days of retries. */
export const defaultMaxAttempts = 19;
export const maxAllowedAttempts = 25;

/** @param attempt the one that failed, from 1 @param chance in [0, 1) @returns whole ms until the next one */
export function retryDelay(attempt: number, chance: number, policy: RetryPolicy = defaultRetryPolicy): number {
  const delay = policy.firstDelayMs * 2 ** (attempt - 1);
  return Math.round(Math.min(delay * (1 + policy.jitter * chance), policy.maxDelayMs));
}

/** The class of unexpected errors. They count like any failure, so that they are not retried for ever. */
export const unforeseen = 'unforeseen' as const;

/** The class of attempts that were not made, because the process has no key to open the webhook's secret or headers with. */
export const unreadable = 'secret_unreadable' as const;

/** The status of a complete answer, or why there is none. */
export type AttemptResult =
  | { status: number; retryAfterMs?: number | undefined; errorClass?: undefined }
  | { errorClass: EgressErrorClass | typeof unforeseen | typeof unreadable };

export interface AttemptFacts {
  /** Its number in the current schedule, from 1. */
  attempt: number;
  maxAttempts: number;
  /** In [0, 1). */
  chance: number;
  policy?: RetryPolicy;
}

/** The next state of a delivery after an attempt. `disable`: its subscription is turned off. */
export type Verdict =
  | { status: 'delivered' }
  | { status: 'retrying'; delayMs: number }
  | { status: 'dead_lettered'; disable: boolean };

const gone = 410;
/** Another attempt would end the same way. */
const unsendable: readonly string[] = ['forbidden_destination', 'invalid_request'];

/**
 * Judges the result of an attempt. Only 2xx is success. 410 turns the subscription off. What cannot be sent, because its
 * destination is forbidden or the request is not valid, is dead-lettered at once: it can be replayed once that is corrected.
 */
export function judge(result: AttemptResult, { attempt, maxAttempts, chance, policy }: AttemptFacts): Verdict {
  if (result.errorClass !== undefined && unsendable.includes(result.errorClass)) {
    return { status: 'dead_lettered', disable: false };
  }
  const status = result.errorClass === undefined ? result.status : undefined;
  if (status !== undefined && status >= 200 && status < 300) return { status: 'delivered' };
  if (status === gone) return { status: 'dead_lettered', disable: true };
  if (attempt >= maxAttempts) return { status: 'dead_lettered', disable: false };
  const { maxRetryAfterMs } = policy ?? defaultRetryPolicy;
  const asked = result.errorClass === undefined ? (result.retryAfterMs ?? 0) : 0;
  const delayMs = Math.max(retryDelay(attempt, chance, policy), Math.min(asked, maxRetryAfterMs));
  return { status: 'retrying', delayMs };
}
