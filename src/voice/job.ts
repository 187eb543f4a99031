import { defineJob, jobSubmission } from '../jobs/index.ts';
import type { Waiters } from '../platform/concurrency/waiters.ts';
import { statement } from '../platform/database/sql.ts';
import type { Files } from '../storage/index.ts';
import { priorities } from '../temporal/contracts/priorities.ts';
import { type VoiceCallPolicy, voiceContract } from '../temporal/contracts/voice.ts';
import { voiceLimits } from './core/limits.ts';
import { type VoiceCallError, voiceCallStates } from './core/status.ts';
import type { VoiceKind } from './entities.ts';
import { failPoint } from './fail-points.ts';

export interface VoiceJobServices {
  files: Pick<Files, 'remove'>;
  voiceWaiters: Waiters;
  voicePolicy: VoiceCallPolicy;
}

const table = 'voice_call';
const isOpen = `status in (${voiceCallStates.sql('processing')})`;

const stop = statement({
  name: 'voice.stop',
  parameters: { id: 'uuid', status: 'text', error: 'jsonb?' },
  row: { file: 'text?' },
  text: `update voice_call set status = :status, error = :error, request = null, finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and ${isOpen}
   returning file`,
});

export const timedOut: VoiceCallError = { code: 'timeout', message: 'The provider did not answer in time.' };

/** A text that is spoken, or a recording that is transcribed. */
export const voiceJob = defineJob<{
  services: VoiceJobServices;
  policy: VoiceCallPolicy;
  row: object;
  hint: { waiter: string | null };
  /** Null: it was cancelled. */
  error: VoiceCallError | null;
}>({
  contract: voiceContract,
  plural: 'voice calls',
  table,
  isOpen,
  failPoints: failPoint.names,
  policy: ({ voicePolicy }) => voicePolicy,
  waiters: ({ voiceWaiters }) => voiceWaiters,
  deadline: { ms: ({ deadlineMs }) => [deadlineMs] },
  limit: voiceLimits.openVoiceCalls,
  errors: {
    timeout: timedOut,
    terminated: { code: 'provider_error', message: 'The call was terminated by an operator.' },
    unexpected: { code: 'provider_error', message: 'Something went wrong on our side.' },
    cancelled: null,
  },
  async stop({ files }, { tx, voidCredits }, { id }, error) {
    const ended = await tx.one(stop, {
      id,
      status: error ? 'failed' : 'cancelled',
      error: error && JSON.stringify(error),
    });
    if (!ended) return false;
    if (ended.file !== null) await files.remove(tx, [ended.file]);
    await voidCredits();
    return true;
  },
  start: { options: () => ({ priority: priorities.prompt }) },
  forget: {},
  gauges: { name: 'voice_calls', title: 'Texts and recordings', kinds: ['tts', 'stt'] satisfies VoiceKind[] },
});

export const voiceSubmission = jobSubmission({ contract: voiceContract, table, isOpen });
