import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { addCalendar } from '../scheduling/calendar-rows.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let api: ProductProcess;
let worker: ProductProcess;
const startWorker = () => product.start(['calendars', 'housekeeping']);
beforeAll(async () => {
  const env = { ...secrets, CALENDAR_TIME_SCALE: '0.001' };
  product = await openProduct({ entryPoint: soonNoticed, env });
  [api, worker, tenant] = [
    await product.start(['api']),
    await startWorker(),
    await product.createTenant({ plan: 'enterprise' }),
  ];
});
afterAll(() => product.close());

const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
const at = (hour: number) => `${day}T${String(hour).padStart(2, '0')}:00:00Z`;
const utc = (hour: number) => at(hour).replace('Z', '.000Z');
const event = (hour: number) => ({ id: `e${hour}`, start: at(hour), end: at(hour + 1) });

async function connected() {
  const scene = sceneOf(apiClient(api.api, tenant.testKey));
  const eventType = await scene.offer({}, { hours: ['08:00-18:00'] });
  const calendar = await addCalendar(product.database, eventType.host);
  const statusOf = async () =>
    (await scene.get('calendars')).calendars.find(({ id }: { id: string }) => id === calendar);
  return {
    scene,
    eventType,
    calendar,
    put: (events: object[], fault: string | null = null) =>
      scene.put(`calendars/${calendar}/sandbox`, { events, fault }),
    sync: () => scene.request('POST', `calendars/${calendar}/sync`),
    synced: (before: string | null) =>
      until('the calendar is read', async () => {
        const { status, lastSyncedAt } = await statusOf();
        return status === 'active' && lastSyncedAt !== before && lastSyncedAt;
      }),
    open: () => scene.open(eventType.id, day),
  };
}

test('a worker that dies between two pages leaves the busy times of before, and the next one goes on', async () => {
  const { put, sync, synced, open } = await connected();
  await put([event(8), event(9)]);
  await sync();
  const first = await synced(null);
  const before = await open();
  expect(before).not.toContain(utc(8));
  // Twice put, so that what was removed is forgotten and everything is read, in pages of one.
  await put([event(10)]);
  await put([event(11), event(12), event(13)], 'partial_pages');
  await put([event(11), event(12), event(13)], 'partial_pages');
  await worker.arm('calendar.page_stored');
  await sync();
  await worker.ended;
  expect(await open()).toEqual(before);
  await worker.ended;
  worker = await startWorker();
  const seen = new Set<string>();
  await Promise.all([
    synced(first),
    // A reader during the sync sees the state before or after it.
    until('it is new', async () => {
      const now = await open();
      seen.add(now.join());
      return now.includes(utc(8)) && !now.includes(utc(12));
    }),
  ]);
  const hours = [8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
  const after = hours.filter((hour) => ![11, 12, 13].includes(hour)).map(utc);
  expect(await open()).toEqual(after);
  expect([...seen].filter((one) => ![before.join(), after.join()].includes(one))).toEqual([]);
});

test('an event that was written when its worker died is written once, and recorded by the next one', async () => {
  const { scene, eventType, calendar } = await connected();
  await worker.arm('calendar.entry_written');
  const booking = (await scene.book(eventType.id, at(9))).body.data;
  await worker.ended;
  const written = async () => (await scene.get(`calendars/${calendar}/sandbox`)).written;
  expect(await written()).toMatchObject([{ bookingId: booking.id }]);
  worker = await startWorker();
  await until('the effect is done', async () => {
    const { effects } = await scene.get(`bookings/${booking.id}`);
    return effects.some(
      ({ type, status }: { type: string; status: string }) => type === 'calendar_entry' && status === 'succeeded',
    );
  });
  expect(await written()).toMatchObject([{ bookingId: booking.id }]);
});

test('an event that was written when its worker died is removed, when its booking is cancelled before the next one', async () => {
  const { scene, eventType, calendar } = await connected();
  await worker.arm('calendar.entry_written');
  const booking = (await scene.book(eventType.id, at(9))).body.data;
  await worker.ended;
  const written = async () => (await scene.get(`calendars/${calendar}/sandbox`)).written;
  expect(await written()).toMatchObject([{ bookingId: booking.id }]);
  expect((await scene.request('DELETE', `bookings/${booking.id}`)).status).toBe(200);
  worker = await startWorker();
  await until('it is gone', async () => (await written()).length === 0);
});

test('bookings that were made without access reach the calendar once, when the process dies that connected it again', async () => {
  const { scene, eventType, calendar } = await connected();
  const connect = async () => {
    const asked = await scene.request('POST', 'calendars/connect', { service: 'google', hostId: eventType.host });
    // The address of the page, and then of the callback.
    let next: string | null = asked.body.data.authUrl;
    while (next) {
      const { pathname, search } = new URL(next, api.api);
      next = (await fetch(api.api + pathname + search, { redirect: 'manual' })).headers.get('location');
    }
  };
  await scene.request('DELETE', `calendars/${calendar}`);
  const ids: string[] = [];
  for (const hour of [9, 11, 13]) ids.push((await scene.book(eventType.id, at(hour))).body.data.id);
  const effectsAre = (of: ReturnType<typeof sceneOf>, status: string) =>
    until(`the entries are ${status}`, async () => {
      const found = await Promise.all(ids.map((id) => of.get(`bookings/${id}`)));
      return found.every(({ effects }) =>
        effects.some((one: { type: string; status: string }) => one.type === 'calendar_entry' && one.status === status),
      );
    });
  await effectsAre(scene, 'skipped');
  await api.arm('calendar.entries_due');
  await connect().catch(() => {});
  await api.ended;
  api = await product.start(['api']);
  const again = sceneOf(apiClient(api.api, tenant.testKey));
  await effectsAre(again, 'succeeded');
  const { calendars } = await again.get('calendars');
  const renewed = calendars.find(({ hostId }: { hostId: string }) => hostId === eventType.host);
  const { written } = await again.get(`calendars/${renewed.id}/sandbox`);
  expect(written.map(({ bookingId }: { bookingId: string }) => bookingId).toSorted()).toEqual(ids.toSorted());
});
