import { AppError, type ErrorCodes, type FieldError, listed } from '../platform/errors.ts';
import { secretsUnreadable, secretsUnreadableMessage } from '../platform/security/crypto.ts';

/** `auth_expired`, `rate_limited` and `action_failed` are kinds: each has a status that no other kind of failure has here. */
export const integrationErrors = {
  integration_not_found: 'not_found',
  not_connected: 'conflict',
  invalid_payload: 'validation_error',
} as const satisfies ErrorCodes;

/** @param integrationId as the caller wrote it */
export const integrationNotFound = (integrationId: string) =>
  new AppError('not_found', 'There is no such integration.', { integrationId }, { code: 'integration_not_found' });

export const notConnected = (integrationId: string) =>
  new AppError('conflict', 'Connect the integration first.', { integrationId }, { code: 'not_connected' });

export const authExpired = (integrationId: string) =>
  new AppError('auth_expired', 'The provider no longer accepts our access. Connect the integration again.', {
    integrationId,
  });

/** @param retryAfter whole seconds */
export const providerRateLimited = (integrationId: string, retryAfter: number) =>
  new AppError('rate_limited', 'The provider limits the rate of requests.', { integrationId }, { retryAfter });

/** @param errors with paths within the payload */
export const invalidPayload = (errors: readonly FieldError[]) =>
  new AppError(
    'validation_error',
    'The payload does not fit the action.',
    { errors: listed(errors) },
    {
      code: 'invalid_payload',
    },
  );

/** Facts about a failed action. `outcome`: whether the provider may have performed it nevertheless. */
export interface ActionFailure {
  integrationId: string;
  actionId: string;
  providerCode?: string | undefined;
  outcome: 'failed' | 'unknown';
}

const sentenceOf = (providerCode: string | undefined, outcome: ActionFailure['outcome']): string => {
  if (providerCode === secretsUnreadable) return secretsUnreadableMessage;
  return outcome === 'unknown'
    ? "The provider's answer was lost: it may have performed the action or not."
    : 'The provider did not perform the action.';
};

export const actionFailed = ({ integrationId, actionId, providerCode, outcome }: ActionFailure) =>
  new AppError('action_failed', sentenceOf(providerCode, outcome), {
    integrationId,
    actionId,
    ...(providerCode !== undefined && { providerCode }),
    outcome,
  });
