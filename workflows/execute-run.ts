import {
  ApplicationFailure,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Activities } from '../activities/index.ts';
import { nextStep } from '../src/automation/core/steps.ts';
import { type ExecuteRunArgs, failureTypes, type RunPolicy } from '../src/temporal/contracts.ts';

/** Our own database, and models that answer at once: inside the worker, without a task of their own. */
const local = proxyLocalActivities<Activities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 5 },
});

/**
 * Calls that leave the process and take time. Tried without end: how often a model may be called is counted in the
 * step's row, so that a database that is away for an hour delays a run and does not fail it.
 */
const modelCalls = ({ modelCall: { timeoutMs, heartbeatTimeoutMs, retry } }: RunPolicy) =>
  proxyActivities<Activities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: {
      initialInterval: retry.initialIntervalMs,
      backoffCoefficient: retry.backoff,
      maximumInterval: retry.maximumIntervalMs,
    },
  });

/**
 * An instant try that keeps failing, with the database away for example, goes the way of the calls that take time. What
 * a local activity throws is the failure itself or its time limit, without an ActivityFailure around it.
 */
async function orDecline<Outcome>(tried: Promise<Outcome>): Promise<Outcome | 'not_instant'> {
  try {
    return await tried;
  } catch (failure) {
    if (isCancellation(failure) || !(failure instanceof TemporalFailure)) throw failure;
    return 'not_instant';
  }
}

/**
 * One run: its steps in order, each recorded by the activity that performed it. A run that fails fails this workflow
 * too, so that an operator finds it among the failed ones.
 */
export async function executeRun({ stepIds, instant, policy, ...context }: ExecuteRunArgs): Promise<void> {
  const called = modelCalls(policy);
  const { maximumAttempts: maxAttempts } = policy.modelCall.retry;
  if (stepIds.length === 0) return called.completeRun({ ...context, position: 0 });
  for (let finished = 0; ; finished++) {
    const next = nextStep(stepIds.length, finished);
    if (next.kind === 'finish') return;
    const { position, last } = next;
    const ref = { ...context, position, last, maxAttempts };
    let outcome = instant ? await orDecline(local.performInstantStep(ref)) : 'not_instant';
    if (outcome === 'not_instant') outcome = await called.performStep(ref);
    if (outcome === 'gone') return;
    if (outcome === 'failed') {
      throw ApplicationFailure.nonRetryable(`Step ${stepIds[position]} failed.`, failureTypes.runFailed);
    }
  }
}
