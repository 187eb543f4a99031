import type { ActivityOptions } from '@temporalio/workflow';
import type { RetryProfile } from '../src/temporal/contracts/retry-profile.ts';

/**
 * Temporal retries an activity without limit, at these intervals. The attempts of a profile are counted by the activity
 * itself, in its row: one that a crash or a database interrupted is not an attempt.
 */
export const retryWithoutLimit = ({
  initialIntervalMs,
  backoff,
  maximumIntervalMs,
}: Omit<RetryProfile, 'maximumAttempts'>): NonNullable<ActivityOptions['retry']> => ({
  initialInterval: initialIntervalMs,
  backoffCoefficient: backoff,
  maximumInterval: maximumIntervalMs,
});
