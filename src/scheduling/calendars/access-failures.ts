import { AuthExpired, AuthorizationFailure, ConnectionMissing } from '../../connections/failures.ts';
import { ProviderFailure } from '../../providers/ports.ts';

/** Whether a calendar has to be connected again. */
export const isAccessGone = (error: unknown): boolean =>
  error instanceof AuthExpired || error instanceof ConnectionMissing;

/** A token that cannot be had at the moment, as any other failure of the provider; other errors as they are. */
export function toCalendarFailure(error: unknown): unknown {
  if (!(error instanceof AuthorizationFailure)) return error;
  const { retryable, retryAfterMs } = error;
  return new ProviderFailure(retryable ? 'unavailable' : 'auth', 'The provider gave no access token.', {
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
