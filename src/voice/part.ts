import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/batches.ts';
import { openWorkGauges } from '../platform/open-work.ts';
import type { Part } from '../platform/part.ts';
import { Waiters } from '../platform/waiters.ts';
import type { ProviderServices } from '../providers/index.ts';
import type { StorageServices } from '../storage/index.ts';
import { defaultVoiceCallPolicy, type VoiceCallPolicy } from '../temporal/contracts/voice.ts';
import { voiceCallStates } from './core/status.ts';
import { startPendingCall } from './create-call.ts';
import { voiceDeclarations } from './declarations.ts';
import { VoiceCall } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { endOverdueCalls, forgetCalls, watchStoppedCalls } from './overdue.ts';
import { UploadSlots } from './upload-slots.ts';

export interface VoiceServices {
  voiceWaiters: Waiters;
  voicePolicy: VoiceCallPolicy;
  uploadSlots: UploadSlots;
}

const overdueBatchSize = 50;
const forgetBatchSize = 1_000;

/** Texts that are spoken, and recordings that are transcribed. */
export const voice: Part<Foundation & ProviderServices & StorageServices, VoiceServices> = {
  ...voiceDeclarations,
  states: { 'A voice call': voiceCallStates },
  entities: [VoiceCall],
  rowBounds: { voice_call: { retention: { by: 'remove voice calls after a day', after: 'a day' } } },
  failPoints: failPoint.names,
  promptKinds: ['voice.start'],
  open({ notifications }) {
    const voiceWaiters = new Waiters('voice');
    notifications.on(voiceWaiters.channel, (id) => voiceWaiters.notifyLocal(id));
    return { voiceWaiters, voicePolicy: defaultVoiceCallPolicy, uploadSlots: new UploadSlots() };
  },
  outbox: (services) => ({
    'voice.start': (scope, id, hint?: Parameters<typeof startPendingCall>[3]) =>
      startPendingCall(services, scope, id, hint),
  }),
  gauges: ({ observer }) =>
    openWorkGauges(observer, {
      name: 'voice_calls',
      title: 'Texts and recordings',
      table: 'voice_call',
      kinds: ['tts', 'stt'],
      isOpen: `status in (${voiceCallStates.sql('processing')})`,
    }),
  sweeps: ({ database, temporal, log, files, voiceWaiters: waiters, voicePolicy: { deadlineMs } }) => [
    {
      name: 'end voice calls that were terminated in Temporal',
      everyMs: 5_000,
      run: watchStoppedCalls({ database, temporal, log, files, waiters }),
    },
    {
      name: 'end voice calls that nobody works on',
      everyMs: 60_000,
      run: () =>
        inBatches((limit) => endOverdueCalls({ database, log, files, waiters }, deadlineMs, limit), overdueBatchSize),
    },
    {
      name: 'remove voice calls after a day',
      everyMs: 60_000,
      run: () => inBatches((limit) => forgetCalls(database, limit), forgetBatchSize),
    },
  ],
};
