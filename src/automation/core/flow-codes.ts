/** Why a step or a run of a flow failed. They are published as codes of the step and the run. */
export const flowErrorCodes = [
  'too_many_items',
  'too_many_steps',
  'too_many_waiting',
  'invalid_payload',
  'too_deep',
  'child_failed',
  'http_error',
  'outcome_unknown',
  'secret_not_found',
  'insufficient_credits',
  'approval_expired',
  'event_timeout',
  'superseded',
  'expired',
  'failed_by_step',
] as const;
