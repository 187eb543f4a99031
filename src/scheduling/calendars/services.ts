import type { ConnectionServices } from '../../connections/index.ts';
import type { Foundation } from '../../foundation.ts';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { mailSettings } from '../../platform/env.ts';
import type { Mailer } from '../../platform/mail.ts';
import type { OutboxHandlers } from '../../platform/outbox/outbox.ts';
import type { Sweep } from '../../platform/parts/part.ts';
import type { Environment } from '../../platform/tenant.ts';
import { type CalendarPolicy, defaultCalendarPolicy } from '../../temporal/contracts/calendars.ts';
import { scalePauses } from '../../temporal/contracts/retry-profile.ts';
import { type CalendarAccounts, calendarAccounts } from './accounts.ts';
import { calendarWork } from './calendars.ts';
import { type CalendarClients, calendarClients } from './clients/clients.ts';
import { GoogleCalendarClient } from './clients/google-client.ts';
import { MicrosoftCalendarClient } from './clients/microsoft-client.ts';
import { calendarProviders } from './clients/oauth-providers.ts';
import { sandboxCalendars } from './clients/sandbox-client.ts';
import { calendarCallbackPath, calendarPurpose } from './connect-calendar.ts';
import { noticeExpiredAccess, openCalendarMail } from './notice.ts';
import { baseUrls, type CalendarEnv } from './settings.ts';
import { connectionExpired } from './sync-state.ts';
import { followCalendar, restoreCalendarSchedules } from './temporal-schedule.ts';
import { PushTokens } from './watch.ts';

export interface CalendarServices {
  calendarAccounts: CalendarAccounts;
  calendarClients: CalendarClients;
  calendarPolicy: CalendarPolicy;
  /** Milliseconds between two syncs of a calendar. */
  calendarEveryMs: number;
  /** Factor for the waits that providers request; below 1 only in tests. */
  calendarTimeScale: number;
  calendarMail: Record<Environment, Mailer>;
  pushTokens: PushTokens;
}

/** The services for the syncs of calendars. */
export function openCalendars({
  env,
  connections: access,
  providerEgress: egress,
}: Foundation & ConnectionServices & { env: CalendarEnv }): CalendarServices {
  const timeoutMs = env.CALENDAR_TIMEOUT_SECONDS * 1_000;
  const base = baseUrls(env);
  const scale = env.CALENDAR_TIME_SCALE ?? 1;
  access.declare({
    name: calendarPurpose,
    callbackPath: calendarCallbackPath,
    providers: calendarProviders(env),
    onExpired: connectionExpired,
  });
  return {
    calendarAccounts: calendarAccounts(base, { timeoutMs, egress }),
    calendarClients: calendarClients(sandboxCalendars(withoutSlash(env.PUBLIC_URL)), {
      google: new GoogleCalendarClient({ baseUrl: base.google, timeoutMs, egress, access }),
      microsoft: new MicrosoftCalendarClient({ baseUrl: base.microsoft, timeoutMs, egress, access }),
    }),
    calendarPolicy: scalePauses(defaultCalendarPolicy, scale),
    calendarEveryMs: env.CALENDAR_SYNC_SECONDS * 1_000,
    calendarTimeScale: scale,
    calendarMail: openCalendarMail(mailSettings(env)),
    pushTokens: new PushTokens(env.URL_SIGNING_KEY, env.PUBLIC_URL),
  };
}

export const calendarOutbox = (services: CalendarServices & Foundation): OutboxHandlers => ({
  [calendarWork.schedule]: (scope, id) => followCalendar(services, scope, id, { sync: false }),
  [calendarWork.sync]: (scope, id) => followCalendar(services, scope, id, { sync: true }),
  [calendarWork.notice]: (scope, id) => noticeExpiredAccess(services, scope, id),
});

export const calendarSweeps = (services: CalendarServices & Foundation): Sweep[] => [
  {
    name: 'restore schedules of calendars that were deleted in Temporal',
    everyMs: 60_000,
    async run() {
      const restored = await restoreCalendarSchedules(services.database, services);
      for (const calendar of restored) {
        services.log.warn(calendar, 'restored the schedule of a calendar that was deleted in Temporal');
      }
      return restored.length;
    },
  },
];

export function closeCalendars({ calendarMail }: CalendarServices): void {
  for (const mailer of Object.values(calendarMail)) mailer.close();
}
