import { AppError } from '../platform/errors.ts';
import type { ActionFailure } from './core/action-status.ts';
import { actionFailed, authExpired, invalidPayload, notConnected, providerRateLimited } from './errors.ts';

/** The names by which a caller requested an action. */
interface ActionNames {
  integrationId: string;
  actionId: string;
}

export const actionNotFound = ({ integrationId, actionId }: ActionNames): AppError =>
  new AppError('not_found', 'The integration has no such action.', { integrationId, actionId });

/** The caller's error for an action that was not performed: the code of the provider, and never its text. */
export function publishedFailure(names: ActionNames, failure: ActionFailure): AppError {
  const { code, outcome = 'failed', providerCode, retryAfter = 0, errors = [] } = failure;
  switch (code) {
    case 'not_connected':
      return notConnected(names.integrationId);
    case 'auth_expired':
      return authExpired(names.integrationId);
    case 'rate_limited':
      return providerRateLimited(names.integrationId, retryAfter);
    case 'invalid_payload':
      return invalidPayload(errors);
    case 'action_failed':
      return actionFailed({ ...names, providerCode, outcome });
  }
}
