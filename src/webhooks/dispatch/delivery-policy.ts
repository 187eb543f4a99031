import { type BreakerPolicy, defaultBreakerPolicy } from '../core/breaker.ts';
import { failingLimitMs } from '../core/failing.ts';
import { defaultRetryReleasePolicy, type RetryReleasePolicy } from '../core/retry-release.ts';
import { defaultRetryPolicy, type RetryPolicy } from '../core/retry-schedule.ts';

/** Every duration and limit of deliveries. Tests scale them down and run whole schedules in seconds. */
export interface DeliveryPolicy {
  retry: RetryPolicy;
  /** When the workflows of webhooks with retries look. */
  clock: RetryReleasePolicy;
  breaker: BreakerPolicy;
  /** For one attempt, from resolving the name to the end of the answer. */
  deadlineMs: number;
  /** How much of a response body the log keeps. */
  keptResponseBytes: number;
  /** How long a process may take for an attempt before another process repeats it; longer than any attempt takes. */
  leaseMs: number;
  /** How long the workflow of a dead letter waits for its replay. */
  parkedMs: number;
  /** How long every delivery of a subscription may fail before it is turned off. */
  failingLimitMs: number;
  /** How long the look of a webhook's workflow may be overdue before it counts as lost. */
  strandedMs: number;
  /** How long a caller that waits for an attempt waits for its beginning, while its webhook has no slot for it. */
  heldLookMs: number;
  /**
   * Dead letters whose workflows are started a second in the whole installation; half as many are signalled a change. One
   * costs Temporal 9 ms of CPU and the product 3.
   */
  parkedPerSecond: number;
  /** The same while requests wait for runs. */
  parkedPerSecondBesideRuns: number;
  /** Attempts that the dispatcher of one process has in flight at most. */
  maxConcurrentAttempts: number;
  /** Attempts a second to one host at most, by all organizations and processes together. */
  hostRate: number;
}

export const defaultDeliveryPolicy: DeliveryPolicy = {
  retry: defaultRetryPolicy,
  clock: defaultRetryReleasePolicy,
  breaker: defaultBreakerPolicy,
  deadlineMs: 30_000,
  keptResponseBytes: 16 * 1024,
  leaseMs: 45_000,
  parkedMs: 30 * 24 * 3_600_000,
  failingLimitMs,
  strandedMs: 15_000,
  heldLookMs: 5_000,
  parkedPerSecond: 60,
  parkedPerSecondBesideRuns: 20,
  maxConcurrentAttempts: 256,
  hostRate: 100,
};

/** Multiplies every duration, so that days of retries pass in seconds. */
export function scaled(policy: DeliveryPolicy, scale: number): DeliveryPolicy {
  const { retry, breaker, clock } = policy;
  const times = (ms: number) => Math.max(1, Math.round(ms * scale));
  // Limits on real work have a minimum: a machine does not get faster with the scale. A busy one has taken three seconds for
  // an attempt that its receiver answers at once.
  const deadlineMs = Math.max(times(policy.deadlineMs), 9_000);
  return {
    ...policy,
    retry: {
      ...retry,
      firstDelayMs: times(retry.firstDelayMs),
      maxDelayMs: times(retry.maxDelayMs),
      maxRetryAfterMs: times(retry.maxRetryAfterMs),
    },
    clock: {
      aheadMs: Math.max(times(clock.aheadMs), 12_000),
      settleMs: Math.max(times(clock.settleMs), 250),
      retryingLookMs: Math.max(times(clock.retryingLookMs), 6_000),
      maxLookMs: Math.max(times(clock.maxLookMs), 12_000),
    },
    breaker: { ...breaker, probeEveryMs: times(breaker.probeEveryMs) },
    deadlineMs,
    // An attempt that took all of its time is still to be recorded.
    leaseMs: Math.max(times(policy.leaseMs), deadlineMs + 3_000),
    parkedMs: times(policy.parkedMs),
    failingLimitMs: times(policy.failingLimitMs),
    strandedMs: Math.max(times(policy.strandedMs), 5_000),
  };
}
