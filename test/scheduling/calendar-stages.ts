import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { providerRules } from '../../src/platform/egress/egress-destination.ts';
import { GoogleCalendarClient } from '../../src/scheduling/calendars/clients/google-client.ts';
import { MicrosoftCalendarClient } from '../../src/scheduling/calendars/clients/microsoft-client.ts';
import type { Account, CalendarClient, EntryToWrite } from '../../src/scheduling/calendars/clients/ports.ts';
import { sandboxCalendars } from '../../src/scheduling/calendars/clients/sandbox-client.ts';
import { putSandbox } from '../../src/scheduling/calendars/clients/sandbox-events.ts';
import { calendarIds } from '../../src/scheduling/core/ids.ts';
import { defaultHost } from '../../src/scheduling/hosts.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import type { FakeCalendar, FakeEvent } from '../fakes/calendar-store.ts';
import { startFakeGoogleCalendar } from '../fakes/google-calendar.ts';
import { startFakeMicrosoftCalendar } from '../fakes/microsoft-calendar.ts';
import { addCalendar } from './calendar-rows.ts';

/** A client of the port and what stands behind it, for tests that hold for all of them. */
export interface Stage {
  client: CalendarClient;
  account: Account;
  /** Replaces the events of others. */
  put(events: FakeEvent[]): Promise<void>;
  /** Pages of one event from now on. */
  smallPages(): Promise<void>;
  /** What was listed before is forgotten by the service. */
  expire(): Promise<void>;
  /** Access is withdrawn. */
  revoke(): Promise<void>;
  /** The calendar is deleted. */
  remove(): Promise<void>;
  /** Answers nothing but errors, that may pass. */
  fail(): Promise<void>;
  /** Our own events, as the service has them. */
  written(): Promise<{ start: string; end: string }[]>;
  /** The fake of a live service. */
  fake?: FakeCalendar;
}

/** Far more than an answer of a fake takes, on a busy machine too. */
const usualTimeoutMs = 30_000;

/** To this machine's fakes. */
export const openEgress = () =>
  new Egress(
    providerRules({
      NODE_ENV: 'test',
      EGRESS_PORTS: undefined,
      EGRESS_ALLOW_CIDRS: undefined,
      EGRESS_DENY_CIDRS: undefined,
    }),
  );

const stranger = { organizationId: '00000000-0000-7000-8000-000000000001', environment: 'live' } as const;

function liveStage(fake: FakeCalendar, client: CalendarClient, database: Database, error: { fail: object }): Stage {
  fake.reset();
  const account = {
    scope: new Scope(database, stranger, 'test'),
    calendarId: stranger.organizationId,
    connectionId: 'c',
  };
  return {
    client,
    account,
    fake,
    async put(events) {
      const kept = new Set(events.map(({ id }) => id));
      const others = [...fake.store.events.values()].filter(({ event }) => !event.written && !kept.has(event.id));
      if (others.length > 0) fake.store.remove(...others.map(({ event }) => event.id));
      fake.store.put(...events);
    },
    async smallPages() {
      fake.store.perPage = 1;
    },
    expire: async () => fake.store.forget(),
    async revoke() {
      fake.store.isRevoked = true;
    },
    async remove() {
      fake.store.isGone = true;
    },
    fail: async () => fake.next(error as never, error as never, error as never),
    written: async () =>
      [...fake.store.events.values()].flatMap(({ event }) =>
        event.written ? [{ start: new Date(event.start).toISOString(), end: new Date(event.end).toISOString() }] : [],
      ),
  };
}

/** What every client of the port is tested on. */
export async function openStages(database: Database) {
  const [google, microsoft] = [await startFakeGoogleCalendar(), await startFakeMicrosoftCalendar()];
  const egress = openEgress();
  // As a connection does whose refresh is refused too.
  const access = {
    async withAccessToken<T>(_: unknown, __: unknown, use: (token: string) => Promise<T>): Promise<T> {
      return use('token');
    },
  };
  const unavailable = { fail: { status: 503, body: {} } };

  async function sandboxStage(): Promise<Stage> {
    const { id } = await createOrganization(database, { name: 'One', plan: 'free' });
    const scope = new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'test' }, 'test');
    const calendarId = calendarIds.parse(await addCalendar(database, (await defaultHost(scope)).id))!;
    let events: FakeEvent[] = [];
    const put = async (fault: Parameters<typeof putSandbox>[2]['fault'] = null) => {
      const given = events.flatMap(({ id, start, end, allDay, free, declined, tentative, cancelled, repeat = 1 }) =>
        Array.from({ length: repeat }, (_, day) => {
          const later = (text: string) => {
            const moved = new Date(Date.parse(text) + day * 86_400_000).toISOString();
            return allDay ? moved.slice(0, 10) : moved;
          };
          return {
            id: repeat === 1 ? id : `${id}_${day}`,
            start: later(start),
            end: later(end),
            allDay,
            transparency: free || declined ? ('transparent' as const) : ('opaque' as const),
            ...(cancelled && { status: 'cancelled' as const }),
            ...(tentative && { status: 'tentative' as const }),
          };
        }),
      );
      await putSandbox(scope, calendarId, { events: given, fault });
    };
    return {
      client: sandboxCalendars('http://127.0.0.1:3000')('google'),
      account: { scope, calendarId, connectionId: calendarId },
      async put(given) {
        events = given;
        await put();
      },
      smallPages: () => put('partial_pages'),
      expire: () => put('sync_token_expired'),
      revoke: () => put('revoked'),
      remove: () => put('gone'),
      fail: () => put('unavailable'),
      written: async () => {
        const { rows } = await database.pool.query(
          'select event from sandbox_calendar_event where calendar_id = $1 and booking_id is not null and event is not null',
          [calendarId],
        );
        return rows.map(({ event }) => ({ start: event.start, end: event.end }));
      },
    };
  }

  return {
    google,
    microsoft,
    stages: {
      sandbox: sandboxStage,
      google: async (timeoutMs = usualTimeoutMs) => {
        const client = new GoogleCalendarClient({ baseUrl: google.origin, timeoutMs, egress, access });
        return liveStage(google, client, database, unavailable);
      },
      microsoft: async (timeoutMs = usualTimeoutMs) => {
        const client = new MicrosoftCalendarClient({ baseUrl: `${microsoft.origin}/v1.0`, timeoutMs, egress, access });
        return liveStage(microsoft, client, database, unavailable);
      },
    } satisfies Record<string, (timeoutMs?: number) => Promise<Stage>>,
    async close() {
      await Promise.all([google.close(), microsoft.close(), egress.close()]);
    },
  };
}

export const entryOf = (bookingId: string, more: Partial<EntryToWrite> = {}): EntryToWrite => ({
  bookingId,
  startsAt: Date.parse('2030-01-07T09:00:00Z'),
  endsAt: Date.parse('2030-01-07T09:30:00Z'),
  title: 'Intro call: Grace',
  description: 'Grace\ngrace@example.com',
  location: null,
  withMeeting: false,
  attendee: { name: 'Grace', email: 'grace@example.com' },
  eventId: null,
  revision: 0,
  ...more,
});
