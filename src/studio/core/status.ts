import { defineStates } from '../../platform/core/states.ts';

export const generationStates = defineStates(
  { table: 'generation', column: 'status' },
  {
    processing: {
      meaning: 'The credits are reserved, and the work is under way.',
      initial: true,
      to: ['completed', 'failed', 'cancelled'],
    },
    completed: { meaning: 'The file is stored, and the credits are charged.', to: [] },
    failed: { meaning: 'Nothing was made, and the credits were returned; the error says why.', to: [] },
    cancelled: { meaning: 'It was cancelled before it ended, and the credits were returned.', to: [] },
  },
);

export const generationStatuses = generationStates.all;
export type GenerationStatus = (typeof generationStatuses)[number];
export type TerminalStatus = (typeof generationStates.terminal)[number];

export const failureReasons = [
  'content_policy',
  'invalid_input',
  'provider_error',
  'service_unavailable',
  'timeout',
] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Why a generation failed. */
export interface GenerationError {
  code: FailureReason;
  message: string;
  /** The field of the request whose fault it is: callers that wait get the answer that their request is not valid. */
  path?: 'imageUrl' | 'scale';
}
