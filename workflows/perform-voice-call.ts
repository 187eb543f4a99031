import {
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setWorkflowOptions,
} from '@temporalio/workflow';
import type { VoiceActivities } from '../activities/voice.ts';
import { withSentence } from '../src/temporal/contracts/failure-sentences.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { PerformVoiceCallArgs, VoiceCallPolicy } from '../src/temporal/contracts/voice.ts';
import { retryWithoutLimit } from './retry-options.ts';

/** Retried without limit: the row has a deadline, after which the activity itself records the failure. */
const proxied = ({ timeoutMs, heartbeatTimeoutMs, retry }: VoiceCallPolicy) =>
  proxyActivities<VoiceActivities>({
    startToCloseTimeout: timeoutMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    retry: retryWithoutLimit(retry),
  });

/**
 * A text that is spoken, or a recording that is transcribed. When that fails this workflow fails too, so that operators find
 * it among the failed ones.
 */
export async function performVoiceCall({ policy, ...ref }: PerformVoiceCallArgs): Promise<void> {
  const activities = proxied(policy);
  try {
    setCurrentDetails('Calls the provider. Cancel to give the credits back.');
    const end = await activities.performVoiceCall(ref);
    if (end.kind === 'ended') return setCurrentDetails('');
    const { code } = end;
    setCurrentDetails(`Failed: ${withSentence(code)}`);
    const details = { callId: ref.callId, code };
    throw ApplicationFailure.nonRetryable(
      `The voice call failed: ${withSentence(code)}`,
      failureTypes.voiceCallFailed,
      details,
    );
  } catch (failure) {
    // An operator cancelled it.
    if (isCancellation(failure)) {
      setCurrentDetails('Is being cancelled: its credits are given back.');
      await CancellationScope.nonCancellable(() => activities.recordVoiceCallCancelled(ref));
    }
    throw failure;
  }
}
// One may wait behind others for minutes, and workers of an earlier version may be gone by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, performVoiceCall);
