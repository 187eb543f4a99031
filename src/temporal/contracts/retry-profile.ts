/** Durations in milliseconds. */
export interface RetryProfile {
  initialIntervalMs: number;
  backoff: number;
  maximumIntervalMs: number;
  maximumAttempts: number;
}
