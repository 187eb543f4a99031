import type { Foundation } from '../foundation.ts';
import type { Waiters } from '../platform/concurrency/waiters.ts';
import type { Part } from '../platform/parts/part.ts';
import type { ProviderServices } from '../providers/index.ts';
import type { StorageServices } from '../storage/index.ts';
import { scalePauses } from '../temporal/contracts/retry-profile.ts';
import { defaultVoiceCallPolicy, type VoiceCallPolicy } from '../temporal/contracts/voice.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import { voiceCallStates } from './core/status.ts';
import { voiceDeclarations } from './declarations.ts';
import { VoiceCall } from './entities.ts';
import { voiceJob } from './job.ts';
import { voiceSteps } from './steps.ts';
import { UploadSlots } from './upload-slots.ts';

interface VoiceServices {
  voiceWaiters: Waiters;
  voicePolicy: VoiceCallPolicy;
  uploadSlots: UploadSlots;
}

/** Texts that are spoken, and recordings that are transcribed. */
export const voice: Part<Foundation & ProviderServices & StorageServices & TenancyServices, VoiceServices> = {
  ...voiceDeclarations,
  states: { 'A voice call': voiceCallStates },
  entities: [VoiceCall],
  rowBounds: { voice_call: { retention: { by: 'remove voice calls after a day', after: 'a day' } } },
  ...voiceJob.declarations,
  stepKinds: voiceSteps,
  open: ({ env, notifications }) => ({
    voiceWaiters: voiceJob.openWaiters(notifications),
    voicePolicy: scalePauses(defaultVoiceCallPolicy, env.ATTEMPT_TIME_SCALE),
    uploadSlots: new UploadSlots(),
  }),
  outbox: voiceJob.outbox,
  gauges: voiceJob.gauges,
  sweeps: voiceJob.sweeps,
};
