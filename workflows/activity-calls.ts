import {
  type ActivityOptions,
  isCancellation,
  proxyActivities,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { StepToolActivities } from '../activities/step-tools.ts';
import type { RunPolicy } from '../src/temporal/contracts/automation.ts';
import { besideQueue, queues } from '../src/temporal/contracts/queues.ts';
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

/**
 * Waits for local activities, and falls back when they fail, for example while the database is down. A local activity throws
 * the failure itself, or its timeout, without an ActivityFailure around it. Cancellations and errors of the workflow's own
 * code are thrown on.
 */
export async function orElse<Outcome, Other>(
  tried: Promise<Outcome>,
  otherwise: () => Other | Promise<Other>,
): Promise<Outcome | Other> {
  try {
    return await tried;
  } catch (failure) {
    if (isCancellation(failure) || !(failure instanceof TemporalFailure)) throw failure;
    return otherwise();
  }
}

/** Options of database work and of steps that answer at once: local activities, which need no task of their own. */
export const instantWork = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 5 },
} as const;

/**
 * Options of calls that leave the process and take time. Retried without limit: the step's row counts how often its model was
 * called, so a database that is down for an hour delays a run and does not fail it.
 * @param beginForMs how long steps may begin. The last one that begins has the whole time of a step.
 */
export const callingWork = (
  { modelCall: { timeoutMs, heartbeatTimeoutMs, retry } }: RunPolicy,
  beginForMs: number,
) => ({
  startToCloseTimeout: timeoutMs + beginForMs,
  heartbeatTimeout: heartbeatTimeoutMs,
  retry: retryWithoutLimit(retry),
});

/**
 * Work with tools, on the process that has the files of their servers. The rows record the calls, so a retry calls
 * nothing twice.
 */
export const toolWork = (policy: RunPolicy) =>
  proxyActivities<StepToolActivities>({
    ...callingWork(policy, 0),
    taskQueue: besideQueue(workflowInfo().taskQueue, queues.runs, queues.generation),
  });
