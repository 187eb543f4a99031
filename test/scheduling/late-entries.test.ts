import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { ProviderFailure } from '../../src/platform/provider-failure.ts';
import { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import type { CalendarClient } from '../../src/scheduling/calendars/clients/ports.ts';
import { sandboxCalendars } from '../../src/scheduling/calendars/clients/sandbox-client.ts';
import { putBookingEntry } from '../../src/scheduling/calendars/entries.ts';
import { bookingIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { addCalendar } from './calendar-rows.ts';
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
