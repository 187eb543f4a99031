import { type BreakerPolicy, defaultBreakerPolicy } from './core/breaker.ts';
import { failingLimitMs } from './core/failing.ts';
import { defaultRetryPolicy, type RetryPolicy } from './core/retry-schedule.ts';

/** Every duration and bound of deliveries, as values, so that tests run whole schedules in seconds. */
export interface DeliveryPolicy {
  retry: RetryPolicy;
  breaker: BreakerPolicy;
  /** For one attempt, from the name to the end of the answer. */
  deadlineMs: number;
  /** Of a response that the log keeps. */
  keptResponseBytes: number;
  /** How long whoever makes an attempt has the delivery to itself; longer than any attempt takes. */
  leaseMs: number;
  /** How long a dead letter waits for its replay. */
  parkedMs: number;
  /** How long a subscription may do nothing but fail. */
  failingLimitMs: number;
  /** How long a delivery that is due may be left alone before it is taken for forgotten. */
  strandedMs: number;
  /** How often the workflow of a retry that waits for a place looks whether it was made. */
  heldLookMs: number;
  /** Attempts that the dispatcher of one process has under way at the same time. */
  attemptsAtOnce: number;
}

export const defaultDeliveryPolicy: DeliveryPolicy = {
  retry: defaultRetryPolicy,
  breaker: defaultBreakerPolicy,
  deadlineMs: 30_000,
  keptResponseBytes: 16 * 1024,
  leaseMs: 45_000,
  parkedMs: 30 * 24 * 3_600_000,
  failingLimitMs,
  strandedMs: 15_000,
  heldLookMs: 5_000,
  attemptsAtOnce: 256,
};

/** The same with every duration multiplied: days of retries in seconds. */
export function scaled(policy: DeliveryPolicy, scale: number): DeliveryPolicy {
  const { retry, breaker } = policy;
  const times = (ms: number) => Math.max(1, Math.round(ms * scale));
  // What is compared with the work of machines cannot be as short as a scale may make it.
  const deadlineMs = Math.max(times(policy.deadlineMs), 1_000);
  return {
    ...policy,
    retry: {
      ...retry,
      firstDelayMs: times(retry.firstDelayMs),
      longestDelayMs: times(retry.longestDelayMs),
      longestRetryAfterMs: times(retry.longestRetryAfterMs),
    },
    breaker: { ...breaker, probeEveryMs: times(breaker.probeEveryMs) },
    deadlineMs,
    leaseMs: Math.max(times(policy.leaseMs), 2 * deadlineMs),
    parkedMs: times(policy.parkedMs),
    failingLimitMs: times(policy.failingLimitMs),
    strandedMs: Math.max(times(policy.strandedMs), 5_000),
  };
}
