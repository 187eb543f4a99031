import { pino } from 'pino';
import { Scope } from '../../src/platform/database/scope.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { providerRules } from '../../src/platform/egress/egress-destination.ts';
import { newId } from '../../src/platform/ids.ts';
import { BookingQueues } from '../../src/scheduling/bookings/booking-queues.ts';
import { calendarClients } from '../../src/scheduling/calendars/clients/clients.ts';
import { GoogleCalendarClient } from '../../src/scheduling/calendars/clients/google-client.ts';
import { sandboxCalendars } from '../../src/scheduling/calendars/clients/sandbox-client.ts';
import { pullCalendar } from '../../src/scheduling/calendars/pull-calendar.ts';
import { PushTokens } from '../../src/scheduling/calendars/watch.ts';
import { defaultHost } from '../../src/scheduling/hosts.ts';
import { openProductDatabase } from '../../src/services.ts';
import { startFakeGoogleCalendar } from '../../test/fakes/google-calendar.ts';
import { interleave, type Side } from '../interleave.ts';
import { compare, type Item } from '../item.ts';
import { timeAlone } from '../load.ts';
import type { Stand } from '../stand.ts';

const events = 10_000;
const changes = 10;
const bare = 'the pages read and parsed';

const hourMs = 3_600_000;
const eventOf = (index: number) => {
  const start = Date.now() + (index + 1) * (hourMs / 2);
  return {
    id: `event${index}`,
    start: new Date(start).toISOString(),
    end: new Date(start + hourMs / 4).toISOString(),
  };
};

/** Reads all pages, like a plain client. @returns the token of the next sync */
async function readBare(origin: string, query: Record<string, string>): Promise<string> {
  const common = { singleEvents: 'true', maxResults: '2500', ...query };
  for (let page: Record<string, string> = {}; ; ) {
    const url = `${origin}/calendar/v3/calendars/primary/events?${new URLSearchParams({ ...common, ...page })}`;
    const response = await fetch(url, { headers: { authorization: 'Bearer bench' } });
    const { nextPageToken, nextSyncToken } = (await response.json()) as Record<string, string>;
    if (nextSyncToken !== undefined) return nextSyncToken;
    page = { pageToken: nextPageToken! };
  }
}

async function open(stand: Stand) {
  const fake = await startFakeGoogleCalendar();
  fake.store.perPage = 2_500;
  fake.store.put(...Array.from({ length: events }, (_, index) => eventOf(index)));
  const database = await openProductDatabase(stand.databaseUrl, 2);
  const scope = new Scope(database, { organizationId: stand.organizationId, environment: 'live' }, 'bench');
  const egress = new Egress(
    providerRules({
      NODE_ENV: 'test',
      EGRESS_PORTS: undefined,
      EGRESS_ALLOW_CIDRS: undefined,
      EGRESS_DENY_CIDRS: undefined,
    }),
  );
  const access = {
    withAccessToken: <T>(_: unknown, __: unknown, use: (token: string) => Promise<T>): Promise<T> => use('bench'),
  };
  const google = new GoogleCalendarClient({ baseUrl: fake.origin, timeoutMs: 30_000, egress, access });
  const services = {
    calendarClients: calendarClients(sandboxCalendars(''), { google, microsoft: google }),
    log: pino({ level: 'silent' }),
    bookingQueues: new BookingQueues(),
    pushTokens: new PushTokens(undefined, 'http://127.0.0.1'),
  };
  const calendarId = newId();
  await database.pool.query(
    `insert into calendar (id, organization_id, environment, host_id, connection_id, service, name, status,
                           follow_changes, generation, created_at, updated_at)
     values ($1, $2, 'live', $3, $1, 'google', 'Bench', 'syncing', false, 0, now(), now())`,
    [calendarId, stand.organizationId, (await defaultHost(scope)).id],
  );
  const sync = async (of: 'everything' | 'changes') => {
    const outcome = await pullCalendar(services as never, scope, calendarId, new AbortController().signal);
    if (!('of' in outcome) || outcome.of !== of) throw new Error(`The sync was ${JSON.stringify(outcome)}.`);
  };
  return {
    fake,
    sync,
    forget: () =>
      database.pool.query('update calendar set sync_token = null, baseline = null where id = $1', [calendarId]),
    async close() {
      await Promise.all([fake.close(), egress.close(), database.close()]);
    },
  };
}

/** P16: the cost of a sync besides the pages that it reads, without Temporal, which adds a workflow to each. */
export const syncCalendar: Item = {
  name: 'P16',
  title: `A first sync of ${events} events of a calendar, and one of ${changes} changes`,
  needs: 'stand',
  async run(stand) {
    const { fake, sync, forget, close } = await open(stand);
    try {
      const side = (name: string, count: number, work: () => Promise<unknown>): Side => {
        const round = () => timeAlone(work, { count });
        return { name, warmUp: round, round };
      };
      const window = { timeMin: new Date(0).toISOString(), timeMax: '2100-01-01T00:00:00Z' };
      const first = await interleave(stand.meter, 5, [
        side(bare, 3, () => readBare(fake.origin, window)),
        side('product', 3, async () => {
          await forget();
          await sync('everything');
        }),
      ]);
      let token = await readBare(fake.origin, window);
      await sync('changes');
      const change = () => fake.store.put(...Array.from({ length: changes }, (_, index) => eventOf(index)));
      const later = await interleave(stand.meter, 5, [
        side(bare, 20, async () => {
          change();
          token = await readBare(fake.origin, { syncToken: token });
        }),
        side('product', 20, async () => {
          change();
          await sync('changes');
        }),
      ]);
      return [
        compare('ms', `${events} events`, first, { [bare]: { atMost: 2 } }),
        compare('ms', `${changes} changes`, later, { [bare]: { atMost: 2 } }),
      ];
    } finally {
      await close();
    }
  },
};
