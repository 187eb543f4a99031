import { defineStates } from '../../platform/core/states.ts';

export const messageStates = defineStates(
  { table: 'conversation_message', column: 'status' },
  {
    processing: {
      meaning: 'The credits are reserved, and the reply is being made.',
      initial: true,
      to: ['completed', 'failed', 'cancelled'],
    },
    completed: { meaning: 'The reply is there, and the credits are charged.', to: [] },
    failed: { meaning: 'There is no reply, and the credits were returned; the error says why.', to: [] },
    cancelled: { meaning: 'An operator cancelled it before it ended, and the credits were returned.', to: [] },
  },
);

export type MessageStatus = (typeof messageStates.all)[number];

/** `tools_unavailable`: a server could not list its tools, so the model was not called. */
export type MessageFailure = 'provider_error' | 'timeout' | 'tools_unavailable';

/** Why there is no reply. The message is for the caller. */
export interface MessageError {
  code: MessageFailure;
  message: string;
}
