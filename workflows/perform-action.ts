import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  setCurrentDetails,
  setWorkflowOptions,
  sleep,
} from '@temporalio/workflow';
import type { ActionActivities, ActionRef } from '../activities/actions.ts';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { ActionPolicy, ActionProgress, PerformActionArgs } from '../src/temporal/contracts/integrations.ts';
import { orElse } from './or-else.ts';
import { retryWithoutLimit } from './retry-options.ts';

/** Retried without limit: the row has a deadline, after which the activity itself records the failure. */
const proxied = ({ timeoutMs, heartbeatTimeoutMs, retryMs }: ActionPolicy) =>
  proxyActivities<ActionActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit({ initialIntervalMs: retryMs, backoff: 2, maximumIntervalMs: 10 * retryMs }),
  });

/**
 * Takes what the process that created the action has begun, in a local activity, which needs no task of its own.
 * @returns undefined where another process has begun it, or it was interrupted
 */
async function takeBegun(ref: ActionRef, { attemptMs }: ActionPolicy): Promise<ActionProgress | undefined> {
  const local = proxyLocalActivities<ActionActivities>({
    startToCloseTimeout: attemptMs,
    retry: { maximumAttempts: 1 },
  });
  const progress = await orElse(local.takeBegunAction(ref), () => undefined);
  return progress?.kind === 'elsewhere' ? undefined : progress;
}

const timeOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/**
 * One action of an integration. Where it is to be done later it waits here, and holds no worker. When it fails this workflow
 * fails too, so that operators find it among the failed ones.
 */
export async function performAction({ policy, dueAt, begun, ...ref }: PerformActionArgs): Promise<void> {
  const activities = proxied(policy);
  try {
    if (dueAt !== undefined && dueAt > Date.now()) {
      setCurrentDetails(`Will be performed at ${timeOf(dueAt)}, unless it is cancelled.`);
      await sleep(dueAt - Date.now());
    }
    setCurrentDetails('Calls the provider.');
    let progress = begun ? await takeBegun(ref, policy) : undefined;
    for (;;) {
      progress ??= await activities.performAction(ref);
      if (progress.kind === 'ended') return setCurrentDetails('');
      if (progress.kind === 'failed') break;
      const until = timeOf(Date.now() + progress.ms);
      setCurrentDetails(
        progress.kind === 'pause'
          ? `The provider asked to wait, or was not reached. The next attempt is at ${until}.`
          : `Another process makes the attempt. Its result is read at ${until}.`,
      );
      await sleep(progress.ms);
      progress = undefined;
    }
    const { code } = progress;
    setCurrentDetails(`Failed: ${withSentence(code)}`);
    const details = { actionId: ref.actionId, code };
    throw ApplicationFailure.nonRetryable(
      `The action failed: ${withSentence(code)}`,
      failureTypes.actionFailed,
      details,
    );
  } catch (failure) {
    // An operator cancelled it.
    if (isCancellation(failure)) {
      setCurrentDetails('Is being cancelled. A request that was already sent to the provider may still be performed.');
      await CancellationScope.nonCancellable(() => activities.recordActionCancelled(ref));
    }
    throw failure;
  }
}
// One may wait for a day, and workers of an earlier version may be gone by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, performAction);
