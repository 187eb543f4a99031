import { AuthExpired, AuthorizationFailure, ConnectionMissing } from '../../../connections/index.ts';
import type { Scope } from '../../../platform/database/scope.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import { secretsUnreadable } from '../../../platform/security/crypto.ts';
import { stopSyncs } from '../sync-state.ts';
import { CalendarGone } from './ports.ts';

/** Why a calendar has to be connected again. */
export type LostAccess = 'auth_expired' | 'disconnected';

/** Why a client failed: access was withdrawn, or the calendar was deleted. Undefined for another failure. */
export function lostAccessOf(error: unknown): LostAccess | undefined {
  if (error instanceof AuthExpired || error instanceof ConnectionMissing) return 'auth_expired';
  return error instanceof CalendarGone ? 'disconnected' : undefined;
}

/**
 * Ends the syncs of a calendar whose client failed because access was withdrawn or the calendar was deleted.
 * @param error of a client
 * @returns why it has to be connected again; undefined when it need not be
 */
export async function stopIfLost(scope: Scope, calendarId: string, error: unknown): Promise<LostAccess | undefined> {
  const lost = lostAccessOf(error);
  if (lost) await stopSyncs(scope, calendarId, lost);
  return lost;
}

/** A token that cannot be had at the moment, as any other failure of the provider; other errors as they are. */
export function toCalendarFailure(error: unknown): unknown {
  if (!(error instanceof AuthorizationFailure)) return error;
  const { code, message, retryable, retryAfterMs } = error;
  const said = code === secretsUnreadable ? message : 'The provider gave no access token.';
  return new ProviderFailure(retryable ? 'unavailable' : 'auth', said, {
    retryable,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
