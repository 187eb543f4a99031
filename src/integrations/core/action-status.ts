import { defineStates } from '../../platform/core/states.ts';

export const actionStates = defineStates(
  { table: 'integration_action', column: 'status' },
  {
    scheduled: {
      meaning: 'It will be performed later.',
      initial: true,
      to: ['processing', 'failed', 'cancelled'],
    },
    processing: {
      meaning: 'The request to the provider is under way, or about to be.',
      initial: true,
      to: ['completed', 'failed', 'unknown', 'cancelled'],
    },
    completed: { meaning: 'The provider performed it, and its answer is there.', to: [] },
    failed: { meaning: 'The provider did not perform it; the failure says why.', to: [] },
    unknown: {
      meaning: "The provider's answer was lost, so it may have performed the action; the request is not repeated.",
      to: [],
    },
    cancelled: { meaning: 'Its caller or an operator cancelled it before a request was sent.', to: [] },
  },
);

export type ActionStatus = (typeof actionStates.all)[number];

/** Why an action was not performed, with a published code. */
export interface ActionFailure {
  code: 'action_failed' | 'auth_expired' | 'invalid_payload' | 'not_connected' | 'rate_limited';
  /** For `action_failed`. */
  outcome?: 'failed' | 'unknown';
  /** The provider's own code. */
  providerCode?: string;
  /** For `rate_limited`, in seconds. */
  retryAfter?: number;
  /** For `invalid_payload`: paths within the payload. */
  errors?: { path: string; message: string }[];
}
