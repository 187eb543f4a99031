import { defineStates } from '../../platform/core/states.ts';

export const voiceCallStates = defineStates(
  { table: 'voice_call', column: 'status' },
  {
    processing: {
      meaning: 'The credits are reserved, and the speech or the transcription is being made.',
      initial: true,
      to: ['completed', 'failed', 'cancelled'],
    },
    completed: { meaning: 'It is there, and the credits are charged.', to: [] },
    failed: { meaning: 'There is none, and the credits were returned; the error says why.', to: [] },
    cancelled: { meaning: 'An operator cancelled it before it ended, and the credits were returned.', to: [] },
  },
);

export type VoiceCallStatus = (typeof voiceCallStates.all)[number];

/** The reason why a call failed, for operators: callers receive one sentence for all causes. */
export interface VoiceCallError {
  code: 'provider_error' | 'service_unavailable' | 'timeout';
  message: string;
}
