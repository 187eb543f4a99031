import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { RunActivities } from '../activities/runs.ts';
import type { ExecuteRunArgs, RunPolicy } from '../src/temporal/contracts/automation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';

/** Database work and steps that answer at once: local activities, which need no task of their own. */
const local = proxyLocalActivities<RunActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 5 },
});

/**
 * Calls that leave the process and take time. Retried without limit: the step's row counts how often its model was called,
 * so a database that is down for an hour delays a run and does not fail it.
 */
const modelCalls = ({ modelCall: { timeoutMs, heartbeatTimeoutMs, retry } }: RunPolicy) =>
  proxyActivities<RunActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: {
      initialInterval: retry.initialIntervalMs,
      backoffCoefficient: retry.backoff,
      maximumInterval: retry.maximumIntervalMs,
    },
  });

/**
 * Falls back to an ordinary activity when a local one keeps failing, for example while the database is down. A local
 * activity throws the failure itself, or its time-out, without an ActivityFailure around it.
 */
async function orElse<Outcome>(tried: Promise<Outcome>, otherwise: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await tried;
  } catch (failure) {
    if (isCancellation(failure) || !(failure instanceof TemporalFailure)) throw failure;
    return otherwise();
  }
}

/**
 * One run. The activities that execute and record the steps decide which step comes next, because they have the outputs.
 * This workflow decides where they run: in a local activity while steps answer at once, in an activity with heartbeats when
 * a step calls out. When the run fails this workflow fails too, so that operators find it among the failed ones.
 */
export async function executeRun({ begin, policy, ...context }: ExecuteRunArgs): Promise<void> {
  const called = modelCalls(policy);
  const { maximumAttempts: maxAttempts } = policy.modelCall.retry;
  const walk = () => orElse(local.walkSteps(context), () => called.walkSteps(context));
  const call = (position: number) => called.callStep({ ...context, position, maxAttempts });
  try {
    let progress = begin.kind === 'walk' ? await walk() : await call(begin.position);
    while (progress.kind === 'walk' || progress.kind === 'call') {
      progress = progress.kind === 'walk' ? await walk() : await call(progress.position);
    }
    if (progress.kind === 'ended' && progress.status === 'failed') {
      throw ApplicationFailure.nonRetryable(`Step ${progress.stepId} failed.`, failureTypes.runFailed);
    }
  } catch (failure) {
    // Usually the run is recorded as cancelled already, but not when an operator cancelled this workflow in Temporal.
    if (isCancellation(failure)) await CancellationScope.nonCancellable(() => called.recordCancelled(context));
    throw failure;
  }
}
