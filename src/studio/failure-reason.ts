import type { FailureKind } from '../platform/provider-failure.ts';
import type { FailureReason } from './core/status.ts';

const reasons: Partial<Record<FailureKind, FailureReason>> = {
  content_refused: 'content_policy',
  invalid_request: 'invalid_input',
  timeout: 'timeout',
};

/** What callers get for a provider's failure. */
export const failureReasonOf = (kind: FailureKind): FailureReason => reasons[kind] ?? 'provider_error';
