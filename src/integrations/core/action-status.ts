import { defineStates } from '../../platform/core/states.ts';

export const actionStates = defineStates(
  { table: 'integration_action', column: 'status' },
  {
    scheduled: {
      meaning: 'It is to be done later.',
      initial: true,
      to: ['processing', 'failed', 'cancelled'],
    },
    processing: {
      meaning: 'The provider is asked, or is about to be.',
      initial: true,
      to: ['completed', 'failed', 'unknown', 'cancelled'],
    },
    completed: { meaning: 'The provider did it, and its answer is there.', to: [] },
    failed: { meaning: 'The provider did not do it; the failure says why.', to: [] },
    unknown: {
      meaning: 'The provider was asked and its answer was lost, so that it may have done it; it is not asked again.',
      to: [],
    },
    cancelled: { meaning: 'An operator cancelled it before the provider was asked.', to: [] },
  },
);

export type ActionStatus = (typeof actionStates.all)[number];

/** Why an action was not done, in published words. */
export interface ActionFailure {
  code: 'action_failed' | 'auth_expired' | 'invalid_payload' | 'not_connected' | 'rate_limited';
  /** Of `action_failed`. */
  outcome?: 'failed' | 'unknown';
  /** Of the provider's own. */
  providerCode?: string;
  /** Of `rate_limited`, in seconds. */
  retryAfter?: number;
  /** Of `invalid_payload`: places within the payload. */
  errors?: { path: string; message: string }[];
}
