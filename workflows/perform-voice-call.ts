import { setCurrentDetails, setWorkflowOptions } from '@temporalio/workflow';
import type { VoiceActivities } from '../activities/voice.ts';
import type { JobArgs } from '../src/temporal/contracts/jobs.ts';
import { type VoiceCallPolicy, voiceContract } from '../src/temporal/contracts/voice.ts';
import { jobActivities, runJob } from './job.ts';

/** A text that is spoken, or a recording that is transcribed. */
export async function performVoiceCall({ policy, ...ref }: JobArgs<VoiceCallPolicy>): Promise<void> {
  const activities = jobActivities<VoiceActivities>(policy);
  await runJob(voiceContract, ref, {
    work() {
      setCurrentDetails('Calls the provider. Cancel to give the credits back.');
      return activities.performVoiceCall(ref);
    },
    recordCancelled: () => activities.recordVoiceCallCancelled(ref),
  });
}
// A call may wait behind others for minutes, and workers of an earlier version may have ended by then.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, performVoiceCall);
