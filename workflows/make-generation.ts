import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setWorkflowOptions,
  sleep,
} from '@temporalio/workflow';
import type { GenerationActivities } from '../activities/generations.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { GenerationPolicy, MakeGenerationArgs } from '../src/temporal/contracts/studio.ts';

/** Retried without limit: the row has a deadline, after which the activity itself records the failure. */
const proxied = ({ timeoutMs, heartbeatTimeoutMs, retry }: GenerationPolicy) =>
  proxyActivities<GenerationActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: {
      initialInterval: retry.initialIntervalMs,
      backoffCoefficient: retry.backoff,
      maximumInterval: retry.maximumIntervalMs,
    },
  });

/**
 * One generation of Studio. While its provider works it waits here, and holds no worker. When the generation fails this
 * workflow fails too, so that operators find it among the failed ones.
 */
export async function makeGeneration({ policy, ...ref }: MakeGenerationArgs): Promise<void> {
  const activities = proxied(policy);
  const { maximumAttempts: maxAttempts } = policy.retry;
  try {
    for (;;) {
      setCurrentDetails('Its provider is asked, or the file is made and stored.');
      const progress = await activities.advanceGeneration({ ...ref, maxAttempts });
      if (progress.kind === 'ended') return setCurrentDetails('');
      if (progress.kind === 'failed') {
        const { code, message } = progress;
        setCurrentDetails(`Failed: ${code}`);
        throw ApplicationFailure.nonRetryable(`The generation failed: ${code}`, failureTypes.generationFailed, {
          generationId: ref.generationId,
          code,
          message,
        });
      }
      setCurrentDetails('Waits for its provider. Cancel it to give the credits back.');
      await sleep(progress.ms);
    }
  } catch (failure) {
    // An operator cancelled this workflow.
    if (isCancellation(failure)) {
      await CancellationScope.nonCancellable(() => activities.recordGenerationCancelled(ref));
    }
    throw failure;
  }
}
// A video waits for half an hour, and workers of an earlier version may be gone by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, makeGeneration);
