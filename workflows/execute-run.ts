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

/** Our own database, and what answers at once: inside the worker, without a task of its own. */
const local = proxyLocalActivities<RunActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 5 },
});

/**
 * Calls that leave the process and take time. Tried without end: how often a model may be called is counted in the
 * step's row, so that a database that is away for an hour delays a run and does not fail it.
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
 * What keeps failing inside the worker, with the database away for example, goes the way of the calls that take time.
 * A local activity throws the failure itself or its time limit, without an ActivityFailure around it.
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
 * One run. Which step comes next is decided where the outputs are, by the activities that perform and record the steps;
 * this says who performs them: the worker itself while they answer at once, an activity with heartbeats when they call
 * out. A run that fails fails this workflow too, so that an operator finds it among the failed ones.
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
    // Most often the run is recorded as cancelled already; not when an operator cancelled this workflow by itself.
    if (isCancellation(failure)) await CancellationScope.nonCancellable(() => called.recordCancelled(context));
    throw failure;
  }
}
