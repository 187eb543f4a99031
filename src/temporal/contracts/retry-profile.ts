/** Durations in milliseconds. */
export interface RetryProfile {
  initialIntervalMs: number;
  backoff: number;
  maximumIntervalMs: number;
  maximumAttempts: number;
}

/**
 * A policy with other pauses between attempts.
 * @param scale `ATTEMPT_TIME_SCALE`; below 1 in tests alone
 */
export const scalePauses = <Policy extends { retry: RetryProfile }>(policy: Policy, scale = 1): Policy => ({
  ...policy,
  retry: {
    ...policy.retry,
    initialIntervalMs: Math.max(1, policy.retry.initialIntervalMs * scale),
    maximumIntervalMs: Math.max(1, policy.retry.maximumIntervalMs * scale),
  },
});
