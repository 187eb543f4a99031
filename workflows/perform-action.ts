import { proxyLocalActivities, setCurrentDetails, setWorkflowOptions, sleep } from '@temporalio/workflow';
import type { ActionActivities } from '../activities/actions.ts';
import {
  type ActionPolicy,
  type ActionProgress,
  actionContract,
  type PerformActionArgs,
} from '../src/temporal/contracts/integrations.ts';
import type { JobContext, JobEnd } from '../src/temporal/contracts/jobs.ts';
import { orElse } from './activity-calls.ts';
import { jobActivities, runJob } from './job.ts';

/**
 * Takes over the action that its creator has begun, in a local activity, which needs no task of its own.
 * @returns undefined where another process has begun it, or it was interrupted
 */
async function takeBegun(ref: JobContext, { attemptMs }: ActionPolicy): Promise<ActionProgress | undefined> {
  const local = proxyLocalActivities<ActionActivities>({
    startToCloseTimeout: attemptMs,
    retry: { maximumAttempts: 1 },
  });
  const progress = await orElse(local.takeBegunAction(ref), () => undefined);
  return progress?.kind === 'elsewhere' ? undefined : progress;
}

const timeOf = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** One action of an integration. Where it is to be done later it waits here, and holds no worker. */
export async function performAction({ policy, dueAt, begun, ...ref }: PerformActionArgs): Promise<void> {
  const { retryMs } = policy;
  const retry = { initialIntervalMs: retryMs, backoff: 2, maximumIntervalMs: 10 * retryMs };
  const activities = jobActivities<ActionActivities>({ ...policy, retry });
  const work = async (): Promise<JobEnd> => {
    if (dueAt !== undefined && dueAt > Date.now()) {
      setCurrentDetails(`Will be performed at ${timeOf(dueAt)}, unless it is cancelled.`);
      await sleep(dueAt - Date.now());
    }
    setCurrentDetails('Calls the provider.');
    let progress = begun ? await takeBegun(ref, policy) : undefined;
    for (;;) {
      progress ??= await activities.performAction(ref);
      if (progress.kind === 'ended' || progress.kind === 'failed') return progress;
      const until = timeOf(Date.now() + progress.ms);
      setCurrentDetails(
        progress.kind === 'pause'
          ? `The provider asked to wait, or was not reached. The next attempt is at ${until}.`
          : `Another process makes the attempt. Its result is read at ${until}.`,
      );
      await sleep(progress.ms);
      progress = undefined;
    }
  };
  await runJob(actionContract, ref, {
    work,
    recordCancelled: () => activities.recordActionCancelled(ref),
    cancelling: 'Is being cancelled. A request that was already sent to the provider may still be performed.',
  });
}
// An action may wait for a day, and workers of an earlier version may have ended by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, performAction);
