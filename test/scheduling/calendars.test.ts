import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { readBusy } from '../../src/scheduling/calendars/busy.ts';
import { bookingIds, calendarIds, hostIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { whileHeld } from '../hold-lock.ts';
import { sharedProduct } from '../product.ts';
import { temporalSchedule } from '../temporal-schedules.ts';
import { until } from '../until.ts';
import { addCalendar } from './calendar-rows.ts';
import { outcomeOf, sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
});
afterAll(() => product.close());

/** A Wednesday within 400 days, whenever this runs. */
const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const at = (time: string) => `${day}T${time}:00Z`;
const utc = (time: string) => `${day}T${time}:00.000Z`;

const find = async (id: string) =>
  (await scene.get('calendars')).calendars.find((calendar: { id: string }) => calendar.id === id);

/** Asks for a sync, and waits until it has ended as it should. */
async function sync(id: string, status = 'active') {
  const before = await find(id);
  expect((await scene.request('POST', `calendars/${id}/sync`)).status).toBe(202);
  return until(`the calendar is ${status}`, async () => {
    const calendar = await find(id);
    const isOver = calendar.status !== 'syncing';
    const isNew = status !== 'active' || calendar.lastSyncedAt !== before.lastSyncedAt;
    return isOver && isNew && calendar;
  });
}

const put = (id: string, events: object[], fault: string | null = null) =>
  scene.put(`calendars/${id}/sandbox`, { events, fault });

async function connected(hours?: string[], timezone = 'UTC') {
  const eventType = await scene.offer({}, { ...(hours && { hours }), timezone });
  const calendar = await addCalendar(product.database, eventType.host);
  return { eventType, calendar };
}

describe('busy times', () => {
  test('of events close slots and bookings, as their kind says', async () => {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const all = await scene.open(eventType.id, day);
    expect(all).toHaveLength(10);
    const events = [
      { id: 'meeting', start: at('09:30'), end: at('10:30'), title: 'Secret' },
      { id: 'maybe', start: `${day}T14:00:00+02:00`, end: `${day}T15:00:00+02:00`, status: 'tentative' },
      { id: 'free', start: at('14:00'), end: at('15:00'), transparency: 'transparent' },
      { id: 'off', start: at('15:00'), end: at('16:00'), status: 'cancelled' },
    ];
    await put(calendar, events);
    expect(await scene.open(eventType.id, day)).toEqual(all);
    const synced = await sync(calendar);
    expect(synced).toMatchObject({ status: 'active', lastError: null, followChanges: false, hostId: eventType.host });
    const taken = ['09:00', '10:00', '12:00'].map(utc);
    expect(await scene.open(eventType.id, day)).toEqual(all.filter((start) => !taken.includes(start)));
    const refused = await scene.book(eventType.id, at('10:00'));
    expect(outcomeOf(refused)).toEqual({ status: 409, code: 'slot_unavailable', reason: 'calendar' });
    expect(refused.body.error.details).toMatchObject({ conflictsUntil: utc('10:30') });
    expect(JSON.stringify(refused.body)).not.toContain('Secret');
    expect((await scene.book(eventType.id, at('10:30'))).status).toBe(201);

    // An incremental sync: one moved, one gone, one more.
    const later = [
      { id: 'meeting', start: at('08:00'), end: at('09:00') },
      { id: 'new', start: at('16:30'), end: at('16:45') },
    ];
    await put(calendar, later);
    await sync(calendar);
    const closed = ['08:00', '16:00', '10:00', '11:00'].map(utc);
    expect(await scene.open(eventType.id, day)).toEqual(all.filter((start) => !closed.includes(start)));
    // A second put before a sync, with what was removed forgotten: everything is read again.
    await put(calendar, []);
    await put(calendar, [{ id: 'last', start: at('17:00'), end: at('18:00') }]);
    await put(calendar, [{ id: 'last', start: at('17:00'), end: at('18:00') }]);
    await sync(calendar);
    const left = ['17:00', '10:00', '11:00'].map(utc);
    expect(await scene.open(eventType.id, day)).toEqual(all.filter((start) => !left.includes(start)));
    expect((await scene.request('DELETE', `calendars/${calendar}`)).status).toBe(200);
    expect(await scene.open(eventType.id, day)).toContain(utc('17:00'));
    expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(404);
  });

  test('that overlap or touch are read as one: a host may have very many of them', async () => {
    const { eventType, calendar } = await connected();
    const halfHours = ['09:00', '09:30', '10:00', '12:00'];
    const events = halfHours.flatMap((start) => [
      { id: `one ${start}`, start: at(start), end: new Date(Date.parse(at(start)) + 30 * 60_000).toISOString() },
      { id: `other ${start}`, start: at(start), end: new Date(Date.parse(at(start)) + 10 * 60_000).toISOString() },
    ]);
    await put(calendar, [...events, { id: 'last', start: at('13:00'), end: at('13:10') }]);
    await sync(calendar);
    const organizationId = organizationIds.parse(product.tenant.organizationId)!;
    const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'busy');
    const whole = { startsAt: Date.parse(at('00:00')), endsAt: Date.parse(at('23:59')) };
    const interval = (from: string, to: string) => ({ startsAt: Date.parse(at(from)), endsAt: Date.parse(at(to)) });
    const read = async (mergedGap: number, decidesAt: string | null) => {
      const host = { hostId: hostIds.parse(eventType.host)!, within: whole, mergedGap };
      return (
        await readBusy(scope, [{ ...host, decidesAt: decidesAt === null ? null : Date.parse(at(decidesAt)) }])
      )[0];
    };
    const all = [interval('09:00', '10:30'), interval('12:00', '12:30'), interval('13:00', '13:10')];
    expect(await read(0, null)).toEqual(all);
    // As for slots of half an hour, and of a minute more.
    expect(await read(30 * 60_000 - 1, null)).toEqual(all);
    expect(await read(30 * 60_000, null)).toEqual([all[0], interval('12:00', '13:10')]);
    // What ends by then and what does not: the first of each.
    expect(await read(0, '12:30')).toEqual([all[0], all[2]]);
    expect(await read(0, '10:00')).toEqual([all[0]]);
    expect(await read(0, '14:00')).toEqual([all[0]]);
  });

  test('of whole days are those of the host, and long ones close every day within', async () => {
    const { eventType, calendar } = await connected(['00:00-24:00'], 'Asia/Tokyo');
    const on = (days: number) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
    await put(calendar, [
      { id: 'day', start: on(0), end: on(1), allDay: true },
      { id: 'weeks', start: `${on(10)}T00:00:00Z`, end: `${on(40)}T00:00:00Z` },
    ]);
    await sync(calendar);
    const open = (from: number, to = from) => scene.open(eventType.id, on(from), on(to), 'Asia/Tokyo');
    expect(await open(0)).toEqual([]);
    expect(await open(1)).toHaveLength(24);
    expect(await open(12, 39)).toEqual([]);
    expect(await open(41)).toHaveLength(24);
  });
});

describe('a service that fails', () => {
  test('leaves what was read in force, and says what is wrong', async () => {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const meeting = { id: 'meeting', start: at('09:00'), end: at('10:00') };
    await put(calendar, [meeting]);
    await sync(calendar);
    const isBusy = async () => !(await scene.open(eventType.id, day)).includes(utc('09:00'));

    await put(calendar, [meeting, { id: 'more', start: at('11:00'), end: at('12:00') }], 'partial_pages');
    await sync(calendar);
    expect(await scene.open(eventType.id, day)).toHaveLength(8);
    await put(calendar, [meeting], 'sync_token_expired');
    await sync(calendar);
    expect(await scene.open(eventType.id, day)).toHaveLength(9);
    await put(calendar, [meeting], 'rate_limited');
    await sync(calendar);

    await put(calendar, [], 'unavailable');
    expect(await sync(calendar, 'error')).toMatchObject({ status: 'error', lastError: { code: 'unavailable' } });
    expect(await isBusy()).toBe(true);
    await put(calendar, [meeting]);
    expect(await sync(calendar)).toMatchObject({ status: 'active', lastError: null });

    await put(calendar, [], 'gone');
    expect(await sync(calendar, 'disconnected')).toMatchObject({ lastError: { code: 'disconnected' } });
    expect(await isBusy()).toBe(true);
    const refused = await scene.request('POST', `calendars/${calendar}/sync`);
    expect(refused).toMatchObject({ status: 409, body: { error: { details: { status: 'disconnected' } } } });

    const other = await addCalendar(product.database, eventType.host, { service: 'microsoft' });
    await put(other, [], 'revoked');
    expect(await sync(other, 'auth_expired')).toMatchObject({ lastError: { code: 'auth_expired' } });
    const schedule = await until('its Schedule is paused', async () => {
      const found = await temporalSchedule(`calsync-${calendarIds.parse(other)}`);
      return found.state.paused && found;
    });
    expect(schedule.state.note).toContain('cannot be accessed');
  });

  test('to hold more events than are read makes its host busy, until it has fewer', async () => {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const meeting = { id: 'meeting', start: at('09:00'), end: at('10:00') };
    await put(calendar, [meeting]);
    await sync(calendar);
    expect(await scene.open(eventType.id, day)).toHaveLength(9);
    // As many as are read, on the day after.
    const { pool } = product.database;
    await pool.query(
      `insert into calendar_busy (organization_id, environment, calendar_id, generation, event_key, starts_at, ends_at, is_long)
       select organization_id, environment, id, generation, gen_random_uuid(), $2, $2::timestamptz + interval '1 hour', false
         from calendar cross join generate_series(1, 19999) where id = $1`,
      [calendarIds.parse(calendar), new Date(Date.parse(day) + 86_400_000)],
    );
    const more = { id: 'more', start: at('11:00'), end: at('12:00') };
    await put(calendar, [meeting, more]);
    expect(await sync(calendar, 'error')).toMatchObject({ lastError: { code: 'too_many_events' } });
    expect(await scene.open(eventType.id, day)).toEqual([]);
    expect(outcomeOf(await scene.book(eventType.id, at('14:00')))).toMatchObject({ status: 409, reason: 'calendar' });

    await put(calendar, [more]);
    expect(await sync(calendar)).toMatchObject({ status: 'active', lastError: null });
    expect(await scene.open(eventType.id, day)).toHaveLength(9);
  });

  test('is asked only for what a sandbox calendar can hold', async () => {
    const { calendar } = await connected();
    const paths = async (body: object) => {
      const { status, body: outcomeOf } = await scene.request('PUT', `calendars/${calendar}/sandbox`, body);
      return [status, ...(outcomeOf.error?.details?.errors ?? []).map(({ path }: { path: string }) => path)];
    };
    const event = { id: 'x', start: at('09:00'), end: at('10:00') };
    expect(await paths({ events: [event, event] })).toEqual([400, 'events.1.id']);
    expect(await paths({ events: [{ ...event, end: at('09:00') }] })).toEqual([400, 'events.0.start']);
    expect(await paths({ events: [{ ...event, allDay: true, start: 'x' }] })).toEqual([400, 'events.0.start']);
    const whole = { id: 'x', start: day, end: day, allDay: true };
    expect(await paths({ events: [whole] })).toEqual([400, 'events.0.start']);
    expect(await paths({ events: [], fault: 'moon' })).toEqual([400, 'fault']);
    const many = Array.from({ length: 501 }, (_, index) => ({ ...event, id: `e${index}` }));
    expect(await paths({ events: many })).toEqual([400, 'events']);
    expect(await paths({ events: many.slice(1) })).toEqual([200]);
  });
});

test('a sync that is asked for while the first one runs follows it', async () => {
  const { eventType, calendar } = await connected(['08:00-18:00']);
  const event = (id: string, time: string) => ({ id, start: at(time), end: at(`${time.slice(0, 2)}:30`) });
  const many = Array.from({ length: 150 }, (_, index) => event(`e${1_000 + index}`, '09:00'));
  const ask = async () => expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(202);
  await put(calendar, many, 'partial_pages');
  // Both in one second: what Temporal names runs after.
  await sleep(1_000 - (Date.now() % 1_000));
  await ask();
  await until('it has begun', async () => {
    // On a busy machine it may have ended before anybody looks.
    const hasBegun = 'select from calendar where id = $1 and (baseline is not null or last_synced_at is not null)';
    return (await product.database.pool.query(hasBegun, [calendarIds.parse(calendar)])).rowCount === 1;
  });
  // Before what is being listed.
  await put(calendar, [event('a', '16:00'), ...many], 'partial_pages');
  await ask();
  await until('it is known', async () => !(await scene.open(eventType.id, day)).includes(utc('16:00')));
});

describe('bookings', () => {
  const sandbox = (id: string) => scene.get(`calendars/${id}/sandbox`);
  /** Waits until what is written is as it should be. */
  const written = (id: string, starts: string[]) =>
    until(`the calendar has ${starts.join(' and ') || 'nothing'}`, async () => {
      const { written: found } = await sandbox(id);
      return found.map(({ start }: { start: string }) => start).join() === starts.join() && found;
    });

  test('are written into the oldest calendar of the host, moved and removed with it', async () => {
    const locations = [{ type: 'google_meet', autoCreate: true }];
    const eventType = await scene.offer({ locations }, { hours: ['08:00-18:00'] });
    const newer = await addCalendar(product.database, eventType.host);
    const older = await addCalendar(product.database, eventType.host, { createdAt: '2026-01-01T00:00:00Z' });
    const booking = (await scene.book(eventType.id, at('09:00'))).body.data;
    const [entry] = await written(older, [utc('09:00')]);
    expect(entry).toMatchObject({ bookingId: booking.id, title: 'Offer: Grace' });
    expect(entry.meetingUrl).toMatch(/\/sandbox\/meet\/\w{12}$/);
    await until('the booking has the link', async () => {
      const { location } = await scene.get(`bookings/${booking.id}`);
      return location.url === entry.meetingUrl;
    });
    // It never takes the time of its own booking.
    await sync(older);
    const moved = await scene.request('PATCH', `bookings/${booking.id}/reschedule`, { newStart: at('09:30') });
    expect(moved.status).toBe(200);
    await written(older, [utc('09:30')]);
    await sync(older);
    expect((await scene.open(eventType.id, day)).includes(utc('11:00'))).toBe(true);
    await scene.request('DELETE', `bookings/${booking.id}`);
    await written(older, []);
    expect((await sandbox(newer)).written).toEqual([]);
  });

  test('whose calendar was deleted have nothing to remove, and say so', async () => {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const book = async (time: string) => (await scene.book(eventType.id, at(time))).body.data;
    const [first, second] = [await book('09:00'), await book('11:00')];
    await until('both are written', async () => (await sandbox(calendar)).written.length === 2);
    await scene.request('DELETE', `calendars/${calendar}`);
    const becomes = (id: string, status: string) =>
      until(`the entry is ${status}`, async () => {
        const { effects } = await scene.get(`bookings/${id}`);
        return effects.find(({ type }: { type: string }) => type === 'calendar_entry').status === status;
      });
    await scene.request('DELETE', `bookings/${first.id}`);
    await becomes(first.id, 'skipped');
    // With another calendar of the host, what is changed is written there.
    const next = await addCalendar(product.database, eventType.host);
    await scene.request('PATCH', `bookings/${second.id}/reschedule`, { newStart: at('12:00') });
    await written(next, [utc('12:00')]);
    await becomes(second.id, 'succeeded');
  });

  /** Two bookings of 09:00 and 11:00, and the events that a calendar has of them. */
  async function twoWritten() {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const book = async (time: string) => (await scene.book(eventType.id, at(time))).body.data;
    const [first, second] = [await book('09:00'), await book('11:00')];
    const entries = await until('both are written', async () => {
      const { written: found } = await sandbox(calendar);
      return found.length === 2 && found;
    });
    return { calendar, first, second, entries };
  }

  test('stay unchanged when another person changes their events, unless the calendar says otherwise', async () => {
    const { calendar, first, second, entries } = await twoWritten();
    const idOf = ({ id }: { id: string }) =>
      entries.find(({ bookingId }: { bookingId: string }) => bookingId === id).id as string;
    await sync(calendar);
    const change = (booking: { id: string }, start: string, end: string, more = {}) => ({
      id: idOf(booking),
      start: at(start),
      end: at(end),
      ...more,
    });
    await put(calendar, [change(first, '15:00', '16:00'), change(second, '11:00', '12:00', { status: 'cancelled' })]);
    await sync(calendar);
    await until('both are written again', async () => {
      const starts = (await sandbox(calendar)).written.map(({ start }: { start: string }) => start);
      return starts.toSorted().join() === [utc('09:00'), utc('11:00')].join();
    });
    expect(await scene.get(`bookings/${first.id}`)).toMatchObject({ status: 'confirmed', start: utc('09:00') });

    const followed = await scene.request('PATCH', `calendars/${calendar}`, { followChanges: true });
    expect(followed.body.data).toMatchObject({ followChanges: true });
    await sync(calendar);
    await put(calendar, [change(first, '15:00', '16:00'), change(second, '11:00', '12:00', { status: 'cancelled' })]);
    await sync(calendar);
    // What bookings follow is settled after what was read is in force.
    await until('the bookings follow', async () => {
      const [one, other] = [await scene.get(`bookings/${first.id}`), await scene.get(`bookings/${second.id}`)];
      return one.rescheduleCount === 1 && other.status === 'cancelled';
    });
    expect(await scene.get(`bookings/${first.id}`)).toMatchObject({ start: utc('15:00') });
    // A move that the rules do not allow is undone.
    await put(calendar, [change(first, '19:00', '20:00')]);
    await sync(calendar);
    await written(calendar, [utc('15:00')]);
    // So is one to a year in which there are no bookings.
    const longAgo = (time: string) => `1969-12-31T${time}:00Z`;
    await put(calendar, [{ id: idOf(first), start: longAgo('15:00'), end: longAgo('16:00') }]);
    await sync(calendar);
    await written(calendar, [utc('15:00')]);
    expect(await scene.get(`bookings/${first.id}`)).toMatchObject({ start: utc('15:00'), rescheduleCount: 1 });
  });

  test('do not follow a change that was undone before it could be settled', async () => {
    const { calendar, first, second } = await twoWritten();
    await scene.request('PATCH', `calendars/${calendar}`, { followChanges: true });
    // What an earlier sync read and could not settle.
    const moved = { kind: 'moved', startsAt: Date.parse(at('15:00')), endsAt: Date.parse(at('16:00')) };
    for (const [{ id }, change] of [
      [first, moved],
      [second, { kind: 'removed' }],
    ] as const) {
      await until('it is recorded', async () => {
        const { rowCount } = await product.database.pool.query(
          'update calendar_entry set outside_change = $2 where booking_id = $1',
          [bookingIds.parse(id), JSON.stringify(change)],
        );
        return rowCount === 1;
      });
    }
    await sync(calendar);
    // It begins when the first one has settled everything.
    await sync(calendar);
    for (const [{ id }, start] of [
      [first, utc('09:00')],
      [second, utc('11:00')],
    ] as const) {
      expect(await scene.get(`bookings/${id}`)).toMatchObject({ status: 'confirmed', start, rescheduleCount: 0 });
    }
  });

  test('follow an event that its owner moved out of the time that is read, or it is written again', async () => {
    const { calendar, first, second } = await twoWritten();
    await scene.request('PATCH', `calendars/${calendar}`, { followChanges: true });
    await sync(calendar);
    // As a sync finds them that reads everything, and not these.
    for (const [{ id }, date, time] of [
      [first, day, '15:00'],
      [second, '2900-06-13', '19:00'],
    ] as const) {
      const start = `${date}T${time}:00.000Z`;
      const end = new Date(Date.parse(start) + 3_600_000).toISOString();
      const { rows } = await product.database.pool.query(
        `with moved as (
           update sandbox_calendar_event set event = event || jsonb_build_object('start', $2::text, 'end', $3::text)
            where booking_id = $1)
         update calendar_entry set outside_change = '{"kind": "removed"}' where booking_id = $1 returning event_id`,
        [bookingIds.parse(id), start, end],
      );
      expect(rows).toHaveLength(1);
    }
    await sync(calendar);
    await until(
      'the first booking follows',
      async () => (await scene.get(`bookings/${first.id}`)).rescheduleCount === 1,
    );
    expect(await scene.get(`bookings/${first.id}`)).toMatchObject({ status: 'confirmed', start: utc('15:00') });
    await written(calendar, [utc('15:00'), utc('11:00')]);
    expect(await scene.get(`bookings/${second.id}`)).toMatchObject({ status: 'confirmed', start: utc('11:00') });
  });

  test('are not cancelled for a removal that was read before they were moved', async () => {
    const entryOf = async ({ id }: { id: string }) => {
      const { rows } = await product.database.pool.query(
        'select outside_change as change, settle_tried_at as "triedAt" from calendar_entry where booking_id = $1',
        [bookingIds.parse(id)],
      );
      return rows[0];
    };
    // The product waits for the first for some seconds: on a busy machine the second may be cancelled before it is moved.
    const { calendar, first, second } = await until('the second one is moved while the first is held', async () => {
      const { calendar, first, second, entries } = await twoWritten();
      await scene.request('PATCH', `calendars/${calendar}`, { followChanges: true });
      await sync(calendar);
      await put(
        calendar,
        entries.map(({ id, start, end }: { id: string; start: string; end: string }) => {
          return { id, start, end, status: 'cancelled' };
        }),
      );
      const holdFirst = `select from booking where id = '${bookingIds.parse(first.id)}' for update`;
      const status = await whileHeld(product, holdFirst, async () => {
        expect((await scene.request('POST', `calendars/${calendar}/sync`)).status).toBe(202);
        await until('the first one is being cancelled', async () => (await entryOf(first)).triedAt !== null);
        const moved = await scene.request('PATCH', `bookings/${second.id}/reschedule`, { newStart: at('16:00') });
        if (moved.status === 200)
          await until('the second one is written again', async () => (await entryOf(second)).change === null);
        return moved.status;
      });
      expect([200, 400]).toContain(status);
      return status === 200 && { calendar, first, second };
    });
    await until('the first one is cancelled', async () => {
      await sync(calendar);
      return (await scene.get(`bookings/${first.id}`)).status === 'cancelled';
    });
    expect(await scene.get(`bookings/${second.id}`)).toMatchObject({ status: 'confirmed', start: utc('16:00') });
  });

  test('are written again while two hundred other changes cannot be settled', async () => {
    const { eventType, calendar } = await connected(['08:00-18:00']);
    const booking = (await scene.book(eventType.id, at('09:00'))).body.data;
    await until('it is written and recorded', async () => {
      const { effects } = await scene.get(`bookings/${booking.id}`);
      return effects.find(({ type }: { type: string }) => type === 'calendar_entry').status === 'succeeded';
    });
    const [{ id }] = await written(calendar, [utc('09:00')]);
    await sync(calendar);
    // Copies of it, cancelled and with lesser ids: their events are not written again, and their changes stay.
    await product.database.pool.query(
      `with copied as (
         insert into booking select (jsonb_populate_record(b, jsonb_build_object(
             'id', '00000000' || substr(b.id::text, 9, 24) || lpad(to_hex(n), 4, '0'), 'token', null,
             'host_token', null, 'status', 'cancelled', 'cancelled_at', now()))).*
           from booking b, generate_series(1, 200) n where b.id = $1
         returning id)
       insert into calendar_entry select (jsonb_populate_record(e, jsonb_build_object(
           'booking_id', copied.id, 'event_id', copied.id, 'outside_change', '{"kind": "removed"}'::jsonb))).*
         from calendar_entry e, copied where e.booking_id = $1`,
      [bookingIds.parse(booking.id)],
    );
    await put(calendar, [{ id, start: at('15:00'), end: at('16:00') }]);
    await sync(calendar);
    await sync(calendar);
    await written(calendar, [utc('09:00')]);
  });

  test('are written while its owner puts other events', async () => {
    const { eventType, calendar } = await connected();
    const hours = Array.from({ length: 20 }, (_, hour) => `${hour}`.padStart(2, '0'));
    let booked = false;
    const putting = (async () => {
      for (let nth = 0; !booked; nth += 1) {
        await put(calendar, [
          { id: `other-${nth}`, start: at('22:00'), end: at('23:00'), transparency: 'transparent' },
        ]);
      }
    })();
    const answers = await Promise.all(hours.map((hour) => scene.book(eventType.id, at(`${hour}:00`))));
    expect(answers.map(({ status }) => status)).toEqual(hours.map(() => 201));
    try {
      await until('all are written', async () => (await sandbox(calendar)).written.length === hours.length);
    } finally {
      booked = true;
      await putting;
    }
  });
});
