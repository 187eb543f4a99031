import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import { BookingQueues } from '../../src/scheduling/bookings/booking-queues.ts';
import { createBooking } from '../../src/scheduling/bookings/create-booking.ts';
import { minuteMs } from '../../src/scheduling/core/calendar-date.ts';
import { createEventType } from '../../src/scheduling/event-types.ts';
import { createHost, putHours } from '../../src/scheduling/hosts.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { interleave } from '../interleave.ts';
import { compare, type Finding, type Item } from '../item.ts';
import { ratePerSecond } from '../load.ts';
import { openOwnDatabase } from '../own-database.ts';

const baseline = 'bare pg, lock and INSERT';
const crowd = { concurrency: 32, rampMs: 200, windowMs: 2_000 };
const connections = 20;
const hosts = 100;
const minutes = 15;

/** As narrow as a booking can be: a time of a host that no other one overlaps. */
const bareTable = `
  create schema bench;
  create table bench.booking (
    id uuid primary key, host_id uuid not null, start_at timestamptz not null, end_at timestamptz not null,
    attendee jsonb not null,
    constraint booking_excl exclude using gist (host_id with =, tstzrange(start_at, end_at) with &&))`;

const lock = { name: 'lock', text: 'select pg_advisory_xact_lock(hashtextextended($1::text, 0))' };
const insert = { name: 'insert', text: 'insert into bench.booking values ($1, $2, $3, $4, $5)' };

const attendee = { name: 'Grace', email: 'grace@example.com', phone: null, timezone: 'UTC' };

/** P15: bookings of free times, compared with only the constraint and the lock. Their effects are not performed. */
export const makeBookings: Item = {
  name: 'P15',
  title: `bookings of ${minutes} minutes, ${crowd.concurrency} concurrent over ${connections} connections`,
  needs: 'stand',
  async run(stand, cleanup) {
    const { pool, database, close } = await openOwnDatabase(stand, cleanup, 'bookings', connections);
    // What follows is not measured: a process that cannot do it would write each entry once more.
    database.outbox = { kinds: [], afterCommit: () => undefined, requireKind() {} };
    await pool.query(bareTable);
    const { id } = await createOrganization(database, { name: 'Bench', plan: 'enterprise' });
    const tenant = { organizationId: organizationIds.parse(id)!, environment: 'test' } as const;
    const scope = new Scope(database, tenant, 'bench');
    const allDay = ['00:00-24:00'];
    const weeklyHours = {
      monday: allDay,
      tuesday: allDay,
      wednesday: allDay,
      thursday: allDay,
      friday: allDay,
      saturday: allDay,
      sunday: allDay,
    };
    /** An event type of a host of its own, open around the clock. */
    const offer = async (): Promise<string> => {
      const { outcome: host } = await createHost(scope, { name: 'Host', email: null, timezone: 'UTC' });
      await putHours(scope, host.id, { timezone: 'UTC', weeklyHours });
      const { outcome: eventType } = await createEventType(scope, {
        name: 'Bench',
        slug: undefined,
        duration: minutes,
        description: null,
        locations: [],
        questions: [],
        embedOrigins: [],
        bufferBefore: 0,
        bufferAfter: 0,
        minNotice: 0,
        maxAdvance: null,
        isActive: true,
        hostId: host.id,
        reminders: [1_440, 60],
      });
      return eventType.id;
    };
    const eventTypes: string[] = [];
    while (eventTypes.length < hosts) eventTypes.push(await offer());

    const services = {
      bookingQueues: new BookingQueues(),
      effectTimeScale: 1,
      bookingPages: new BookingPages('bench', stand.api),
    };
    const firstStart = Date.parse('2040-01-01T00:00:00Z');
    const measure = async (what: string, of: string[], atLeast: number): Promise<Finding> => {
      let [ownRound, bareRound] = [0, 0];
      const hostIds = of.map(() => newId());
      /** A host, and a time without a booking. */
      const next = <T>(n: number, among: T[]) => ({
        host: among[n % among.length]!,
        start: new Date(firstStart + Math.floor(n / among.length) * minutes * minuteMs),
      });
      const product = () => {
        const { host: eventTypeId, start } = next(ownRound++, of);
        const input = { eventTypeId, start: start.toISOString(), attendee, responses: {}, metadata: {} };
        return createBooking(services, new Scope(database, tenant, 'bench'), { ...input, location: undefined });
      };
      const bare = async () => {
        const { host, start } = next(bareRound++, hostIds);
        const client = await pool.connect();
        await client.query('begin');
        await client.query({ ...lock, values: [host] });
        await client.query({
          ...insert,
          values: [newId(), host, start, new Date(start.getTime() + minutes * minuteMs), attendee],
        });
        await client.query('commit');
        client.release();
      };
      const side = (name: string, operation: () => Promise<unknown>) => ({
        name,
        async warmUp() {
          const rate = await ratePerSecond(operation, { ...crowd, rampMs: 0 });
          // As PostgreSQL does by itself within a minute: plans of a table that was empty would stay for the rounds.
          await pool.query('analyze');
          return rate;
        },
        round: () => ratePerSecond(operation, crowd),
      });
      const measured = await interleave(stand.meter, 5, [side(baseline, bare), side('product', product)]);
      return compare('bookings/s', what, measured, { [baseline]: { atLeast } });
    };
    const findings = [
      await measure(`${hosts} hosts`, eventTypes, 0.5),
      await measure('one host', [await offer()], 0.5),
    ];
    await close();
    return findings;
  },
};
