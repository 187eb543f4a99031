import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { ProviderFailure } from '../../src/platform/provider-failure.ts';
import { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import type { CalendarClient } from '../../src/scheduling/calendars/clients/ports.ts';
import { sandboxCalendars } from '../../src/scheduling/calendars/clients/sandbox-client.ts';
import { putBookingEntry } from '../../src/scheduling/calendars/entries.ts';
import { bookingIds, calendarIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { addCalendar } from './calendar-rows.ts';
import { entryOf } from './calendar-stages.ts';
import { sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

const address = 'http://127.0.0.1:3000';
const failure = () => new ProviderFailure('unavailable', 'The calendar is unavailable.');

test.each(['answers', 'does not answer'])(
  'an entry is removed that a calendar wrote after its booking was cancelled, and %s',
  async (how) => {
    const scene = sceneOf(product.api);
    const eventType = await scene.offer();
    const calendar = await addCalendar(product.database, eventType.host);
    const { id } = (await scene.book(eventType.id, '2040-06-13T09:00:00Z')).body.data;
    const entries = (count: number) =>
      until(`the calendar has ${count}, and the effect is done`, async () => {
        const { written } = await scene.get(`calendars/${calendar}/sandbox`);
        const { effects } = await scene.get(`bookings/${id}`);
        const { status } = effects.find(({ type }: { type: string }) => type === 'calendar_entry');
        return written.length === count && status === 'succeeded';
      });
    await entries(1);
    const sandboxed = sandboxCalendars(address)('google');
    const slow: CalendarClient = {
      ...sandboxed,
      async write(...call) {
        await scene.request('DELETE', `bookings/${id}`);
        await entries(0);
        const entry = await sandboxed.write(...call);
        if (how === 'answers') return entry;
        throw failure();
      },
      remove: () => Promise.reject(failure()),
    };
    const services = {
      calendarClients: { clientFor: () => slow },
      bookingPages: new BookingPages(undefined, address),
    };
    const organizationId = organizationIds.parse(product.tenant.organizationId)!;
    const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'late');
    const booking = { bookingId: bookingIds.parse(id)!, version: 1 };
    const late = putBookingEntry(services, scope, booking, new AbortController().signal);
    await expect(late).rejects.toBeInstanceOf(ProviderFailure);
    await entries(0);
  },
);

test('a booking does not follow a write of its own that arrives after it was moved', async () => {
  const scene = sceneOf(product.api);
  const eventType = await scene.offer();
  const id = await addCalendar(product.database, eventType.host);
  const { id: bookingId } = (await scene.book(eventType.id, '2040-06-13T09:00:00Z')).body.data;
  const starts = (start: string) =>
    until(`the calendar has ${start}`, async () => {
      const { written } = await scene.get(`calendars/${id}/sandbox`);
      return written.length === 1 && written[0].start === start;
    });
  await starts('2040-06-13T09:00:00.000Z');
  expect((await scene.request('PATCH', `calendars/${id}`, { followChanges: true })).status).toBe(200);
  const newStart = '2040-06-13T15:00:00Z';
  expect((await scene.request('PATCH', `bookings/${bookingId}/reschedule`, { newStart })).status).toBe(200);
  await starts('2040-06-13T15:00:00.000Z');

  const { pool } = product.database;
  const { rows } = await pool.query('select connection_id as "connectionId" from calendar where id = $1', [
    calendarIds.parse(id),
  ]);
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'late');
  const account = { scope, calendarId: calendarIds.parse(id)!, connectionId: rows[0].connectionId };
  const before = {
    startsAt: Date.parse('2040-06-13T09:00:00Z'),
    endsAt: Date.parse('2040-06-13T10:00:00Z'),
    revision: 0,
  };
  const call = { signal: new AbortController().signal, timezone: 'UTC', memory: new Map() };
  await sandboxCalendars(address)('google').write(account, entryOf(bookingIds.parse(bookingId)!, before), call);
  await starts('2040-06-13T09:00:00.000Z');
  expect((await scene.request('POST', `calendars/${id}/sync`)).status).toBe(202);
  await starts('2040-06-13T15:00:00.000Z');
  expect(await scene.get(`bookings/${bookingId}`)).toMatchObject({
    start: '2040-06-13T15:00:00.000Z',
    rescheduleCount: 1,
  });
});

test('an event in a calendar that lost its access is removed when the calendar is connected again', async () => {
  const scene = sceneOf(product.api);
  const eventType = await scene.offer();
  const first = await addCalendar(product.database, eventType.host, { createdAt: '2026-01-01T00:00:00Z' });
  const second = await addCalendar(product.database, eventType.host);
  const { id } = (await scene.book(eventType.id, '2040-06-13T09:00:00Z')).body.data;
  const starts = (calendar: string, ...expected: string[]) =>
    until(`the calendar has ${expected.join() || 'nothing'}`, async () => {
      const { written } = await scene.get(`calendars/${calendar}/sandbox`);
      return written.map(({ start }: { start: string }) => start).join() === expected.join();
    });
  const statusOf = async () => {
    const { calendars } = await scene.get('calendars');
    return calendars.find((calendar: { id: string }) => calendar.id === first).status;
  };
  const sync = async () => expect((await scene.request('POST', `calendars/${first}/sync`)).status).toBe(202);
  await starts(first, '2040-06-13T09:00:00.000Z');
  await scene.put(`calendars/${first}/sandbox`, { events: [], fault: 'revoked' });
  await sync();
  await until('its access has ended', async () => (await statusOf()) === 'auth_expired');
  const newStart = '2040-06-13T15:00:00Z';
  expect((await scene.request('PATCH', `bookings/${id}/reschedule`, { newStart })).status).toBe(200);
  await starts(second, '2040-06-13T15:00:00.000Z');
  await starts(first, '2040-06-13T09:00:00.000Z');

  await scene.put(`calendars/${first}/sandbox`, { events: [], fault: null });
  // As connecting the account again does.
  await product.database.pool.query("update calendar set status = 'syncing' where id = $1", [calendarIds.parse(first)]);
  await sync();
  await starts(first);
  await starts(second, '2040-06-13T15:00:00.000Z');
  const { rowCount } = await product.database.pool.query('select from left_calendar_entry where booking_id = $1', [
    bookingIds.parse(id),
  ]);
  expect(rowCount).toBe(0);
});
