import { AccessTokenRefused, type ConnectionServices } from '../../connections/index.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { LimitLookUp } from '../../tenancy/index.ts';
import type { Service } from '../core/calendar-status.ts';
import { calendarIds } from '../core/ids.ts';
import { getHost, keepHost } from '../hosts.ts';
import type { CalendarAccounts } from './accounts.ts';
import { createCalendar } from './calendars.ts';

/** The purpose of connections to calendars. */
export const calendarPurpose = 'calendar';
export const calendarCallbackPath = '/api/v1/scheduling/calendars/callback';

export interface NewCalendarConsent {
  service: Service;
  /** In either form; the default host where it is missing. */
  hostId?: string | undefined;
  redirectUrl?: string | undefined;
  loginHint?: string | undefined;
}

/**
 * Requests access to the primary calendar of an account.
 * @throws AppError not_found, validation_error with path redirectUrl, provider_not_configured, rate_limit_exceeded
 */
export async function beginConnect(
  { connections }: Pick<ConnectionServices, 'connections'>,
  scope: Scope,
  { service, hostId, redirectUrl, loginHint }: NewCalendarConsent,
): Promise<{ authUrl: string; state: string; expiresIn: number }> {
  const host = await getHost(scope, hostId);
  const subject = { hostId: host.id };
  return connections.begin(scope, { purpose: calendarPurpose, provider: service, subject, redirectUrl, loginHint });
}

/** How a consent ended. */
export type ConnectOutcome = { redirectUrl: string | null } & (
  | { calendarId: string; error?: undefined }
  | { error: string }
);

interface Services extends Pick<ConnectionServices, 'connections'> {
  calendarAccounts: CalendarAccounts;
  log: Log;
}

/**
 * Connects the calendar of an account whose owner answered.
 * @param query of the callback
 * @param limit of look-ups of the state
 * @throws AppError validation_error with path state for an answer to nothing that is open; what `limit` throws
 */
export async function finishConnect(
  services: Services,
  query: URLSearchParams,
  limit: LimitLookUp,
): Promise<ConnectOutcome> {
  const { connections, calendarAccounts, log } = services;
  const answered = await connections.finish(query, calendarPurpose, limit);
  const { scope, result, redirectUrl, loginHint } = answered;
  if ('error' in result) return { redirectUrl, error: result.error };
  const { tokens } = result;
  const service = answered.provider as Service;
  const hostId = String(answered.subject.hostId);
  try {
    const findAccount = calendarAccounts.of(scope.tenant.environment, service);
    const account = await findAccount({ scope, accessToken: tokens.accessToken, hostId, loginHint });
    const calendar = await scope.transaction(async (tx) => {
      await keepHost(tx, hostId);
      const connection = await connections.keep(tx, {
        purpose: calendarPurpose,
        provider: service,
        tokens,
        accountId: account.id,
        accountName: account.name,
      });
      return createCalendar(tx, { connectionId: connection.id, service, hostId, accountName: account.name });
    });
    return { redirectUrl, calendarId: calendarIds.format(calendar.id) };
  } catch (error) {
    // The host was deleted meanwhile, or has the maximum number of calendars.
    if (error instanceof AppError && ['not_found', 'conflict'].includes(error.kind)) {
      return { redirectUrl, error: error.code };
    }
    if (!(error instanceof ProviderFailure || error instanceof AccessTokenRefused)) throw error;
    log.warn({ err: error, service }, 'the account of a calendar could not be identified');
    return { redirectUrl, error: 'exchange_failed' };
  }
}
