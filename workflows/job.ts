import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import type { JobContract, JobEnd } from '../src/temporal/contracts/jobs.ts';
import type { RetryProfile } from '../src/temporal/contracts/retry-profile.ts';
import { retryWithoutLimit } from './activity-calls.ts';

interface AttemptPolicy {
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  retry: Omit<RetryProfile, 'maximumAttempts'>;
}

/** Retried without limit: the row has a deadline, after which the activity itself records the failure. */
export const jobActivities = <Activities extends object>({ timeoutMs, heartbeatTimeoutMs, retry }: AttemptPolicy) =>
  proxyActivities<Activities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit(retry),
  });

interface JobWork {
  work(): Promise<JobEnd>;
  recordCancelled(): Promise<void>;
  /** Shown while a cancellation is recorded. */
  cancelling?: string;
}

/**
 * Works on a job. If it fails, this workflow fails too, so that operators find it among the failed ones. If an operator
 * cancels the workflow, the row records it.
 */
export async function runJob(
  { noun, idName, failureType }: JobContract,
  { id }: { id: string },
  { work, recordCancelled, cancelling = 'Is being cancelled: its credits are given back.' }: JobWork,
): Promise<void> {
  try {
    const end = await work();
    if (end.kind === 'ended') return setCurrentDetails('');
    const { kind: _, ...failure } = end;
    const reason = withSentence(failure.code);
    setCurrentDetails(`Failed: ${reason}`);
    const details = { [idName]: id, ...failure };
    throw ApplicationFailure.nonRetryable(`The ${noun} failed: ${reason}`, failureType, details);
  } catch (failure) {
    if (isCancellation(failure)) {
      setCurrentDetails(cancelling);
      await CancellationScope.nonCancellable(recordCancelled);
    }
    throw failure;
  }
}
