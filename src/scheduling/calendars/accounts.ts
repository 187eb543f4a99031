import { z } from 'zod';
import type { Scope } from '../../platform/database/scope.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Service } from '../core/calendar-status.ts';
import { CalendarHttp, type CalendarHttpOptions } from './clients/calendar-http.ts';

/** Whose calendar an access token opens. */
interface CalendarAccount {
  /** The permanent id at the service. */
  id: string;
  name: string;
}

interface NewAccess {
  scope: Scope;
  accessToken: string;
  /** Whose time it is, and which account was meant: all by which the sandbox distinguishes accounts. */
  hostId: string;
  loginHint: string | null;
}

/** Finds out whose calendar was connected. @throws ProviderFailure, AccessTokenRefused */
type FindAccount = (access: NewAccess) => Promise<CalendarAccount>;

export interface CalendarAccounts {
  of(environment: Environment, service: Service): FindAccount;
}

const maxNameLength = 320;
const name = z.string().min(1).max(maxNameLength);
const googleSchema = z.object({ id: name });
const microsoftSchema = z.object({
  id: z.string().min(1).max(1_000),
  owner: z.object({ address: name.nullish() }).nullish(),
});

type Options = Omit<CalendarHttpOptions, 'title' | 'codesOf' | 'baseUrl' | 'access'>;

/** Asks a service with a token that belongs to no connection yet. */
const asking =
  <Schema extends z.ZodType>(
    options: Options & { title: string; baseUrl: string },
    { path, schema }: { path: string; schema: Schema },
    read: (answer: z.infer<Schema>) => CalendarAccount,
  ): FindAccount =>
  async ({ scope, accessToken }) => {
    const access: CalendarHttpOptions['access'] = { withAccessToken: (_, __, use) => use(accessToken) };
    const http = new CalendarHttp({ ...options, access, codesOf: () => [] });
    const request = { method: 'GET', path, signal: AbortSignal.timeout(options.timeoutMs) } as const;
    try {
      return read(await http.ask({ scope, calendarId: '', connectionId: '' }, request, schema));
    } catch (error) {
      throw http.failureOf(error);
    }
  };

/** @param base addresses of the services, without a slash at their ends */
export function calendarAccounts(base: Record<Service, string>, options: Options): CalendarAccounts {
  const live: Record<Service, FindAccount> = {
    // https://developers.google.com/workspace/calendar/api/v3/reference/calendars: the id of the primary one is an address.
    google: asking(
      { ...options, title: 'Google Calendar', baseUrl: base.google },
      { path: '/calendar/v3/calendars/primary', schema: googleSchema },
      ({ id }) => ({ id, name: id }),
    ),
    microsoft: asking(
      { ...options, title: 'Microsoft Outlook', baseUrl: base.microsoft },
      { path: '/me/calendar?$select=id,owner', schema: microsoftSchema },
      ({ id, owner }) => ({
        id: (owner?.address ?? id).toLowerCase().slice(0, maxNameLength),
        name: owner?.address ?? 'Outlook',
      }),
    ),
  };
  const sandbox =
    (service: Service): FindAccount =>
    async ({ hostId, loginHint }) => ({ id: loginHint ?? hostId, name: `Sandbox (${service})` });
  return { of: (environment, service) => (environment === 'test' ? sandbox(service) : live[service]) };
}
