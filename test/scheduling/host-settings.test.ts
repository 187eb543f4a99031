import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { hostIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { whileHeld } from '../hold-lock.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { outcomeOf, sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

const newTenant = () => product.createTenant({ plan: 'enterprise' });
const newScene = async () => sceneOf(apiClient(product.process.api, (await newTenant()).testKey));
type Scene = Awaited<ReturnType<typeof newScene>>;

const day = '2041-01-09';
const at = (time: string, on = day) => `${on}T${time}:00Z`;
const problems = async (scene: Scene, method: string, path: string, body: object) => {
  const { status, body: answer } = await scene.request(method, path, body);
  return [status, ...(answer.error?.details?.errors ?? []).map((one: { path: string }) => one.path)];
};
const unknown = 'hst_0199aaaabbbb7ccc8ddd777788889999';

test('a booking says whose time it takes, in answers, lists and events', async () => {
  const scene = await newScene();
  const eventType = await scene.offer();
  await scene.make('webhooks', { events: ['booking.created'], url: 'https://hooks.example.com/bookings' });
  const { body } = await scene.book(eventType.id, at('09:00'));
  expect(body.data.hostId).toBe(eventType.host);
  expect((await scene.get(`bookings/${body.data.id}`)).hostId).toBe(eventType.host);
  expect((await scene.get('bookings')).bookings[0].hostId).toBe(eventType.host);
  const { rows } = await product.database.pool.query(
    `select facts from event where type = 'booking.created' and facts->>'hostId' = $1`,
    [hostIds.parse(eventType.host)],
  );
  expect(rows).toHaveLength(1);
  const plain = await scene.make('event-types', { name: 'Plain', duration: 30 });
  const [byDefault] = (await scene.get('hosts')).hosts.filter((one: { isDefault: boolean }) => one.isDefault);
  expect((await scene.book(plain.id, at('10:00'))).body.data.hostId).toBe(byDefault.id);
});

test('the first host is called as its organization until it is renamed', async () => {
  const tenant = await newTenant();
  const scene = sceneOf(apiClient(product.process.api, tenant.testKey));
  const [{ id, name }] = (await scene.get('hosts')).hosts;
  const { rows } = await product.database.pool.query('select name from organization where id = $1', [
    organizationIds.parse(tenant.organizationId),
  ]);
  expect(name).toBe(rows[0].name);
  await scene.request('PATCH', `hosts/${id}`, { timezone: 'Europe/Berlin' });
  await product.database.pool.query("update organization set name = 'Other Ltd' where id = $1", [
    organizationIds.parse(tenant.organizationId),
  ]);
  expect((await scene.get('hosts')).hosts[0].name).toBe('Other Ltd');
  const renamed = await scene.request('PATCH', `hosts/${id}`, { name: 'Ada' });
  expect(renamed.body.data).toMatchObject({ id, name: 'Ada', timezone: 'Europe/Berlin' });
});

test('a blackout of one host leaves the others as they are', async () => {
  const scene = await newScene();
  const [one, other] = [await scene.offer(), await scene.offer()];
  const blackout = { name: 'Away', start: day, end: day };
  const made = await scene.make('blackout-periods', { ...blackout, hostId: one.host });
  expect(made.hostId).toBe(one.host);
  expect(await scene.get(`blackout-periods/${made.id}`)).toEqual(made);
  expect(outcomeOf(await scene.book(one.id, at('09:00')))).toEqual({
    status: 422,
    code: 'blackout_period',
    reason: 'blackout',
  });
  expect(await scene.open(one.id, day)).toEqual([]);
  expect((await scene.book(other.id, at('09:00'))).status).toBe(201);
  const ofAll = await scene.make('blackout-periods', { ...blackout, start: '2041-01-10', end: '2041-01-10' });
  expect(ofAll.hostId).toBeNull();
  for (const { id } of [one, other]) expect(await scene.open(id, '2041-01-10')).toEqual([]);
  expect(await problems(scene, 'POST', 'blackout-periods', { ...blackout, hostId: unknown })).toEqual([400, 'hostId']);
  expect(await problems(scene, 'POST', 'blackout-periods', { ...blackout, hostId: 'x' })).toEqual([400, 'hostId']);
  const foreign = (await (await newScene()).offer()).host;
  expect(await problems(scene, 'POST', 'blackout-periods', { ...blackout, hostId: foreign })).toEqual([400, 'hostId']);
});

test('an exception of one host takes the place of that of all hosts on its date', async () => {
  const scene = await newScene();
  const [one, other] = [
    await scene.offer({}, { hours: ['09:00-11:00'] }),
    await scene.offer({}, { hours: ['09:00-11:00'] }),
  ];
  const exceptions = [
    { date: day, hours: null },
    { date: day, hours: ['12:00-13:00'], hostId: one.host },
    { date: '2041-01-10', hours: null, hostId: other.host },
  ];
  const shown = await scene.put('business-hours', { exceptions });
  expect(shown.exceptions).toEqual(exceptions);
  expect((await scene.get('business-hours')).exceptions).toEqual(exceptions);
  const open = async (id: string) => (await scene.open(id, day, '2041-01-10')).map((start) => start.slice(8, 13));
  expect([await open(one.id), await open(other.id)]).toEqual([['09T12', '10T09', '10T10'], []]);
  const put = (given: object[]) => problems(scene, 'PUT', 'business-hours', { exceptions: given });
  expect(await put([{ date: day, hours: null, hostId: unknown }])).toEqual([400, 'exceptions.0.hostId']);
  expect(await put([exceptions[1]!, exceptions[1]!])).toEqual([400, 'exceptions.1.date']);
});

test('limits of one host hold beside those of all hosts', async () => {
  const scene = await newScene();
  const [one, other] = [await scene.offer(), await scene.offer()];
  const none = { dailyMax: null, weeklyMax: null, monthlyMax: null, consecutiveMax: null, minGapMinutes: null };
  await scene.put('rate-limits', { dailyMax: 2 });
  expect(await scene.put('rate-limits', { dailyMax: 1, hostId: one.host })).toEqual({
    ...none,
    dailyMax: 1,
    hostId: one.host,
  });
  expect(await scene.get('rate-limits')).toEqual({ ...none, dailyMax: 2 });
  expect(await scene.get(`rate-limits?hostId=${one.host}`)).toEqual({ ...none, dailyMax: 1, hostId: one.host });
  expect(await scene.get(`rate-limits?hostId=${other.host}`)).toEqual({ ...none, hostId: other.host });
  const booked = async (id: string) => {
    const statuses = [];
    for (const time of ['09:00', '11:00', '13:00']) statuses.push((await scene.book(id, at(time))).status);
    return statuses;
  };
  expect([await booked(one.id), await booked(other.id)]).toEqual([
    [201, 409, 409],
    [201, 201, 409],
  ]);
  const left = async (id: string) => (await scene.get(`rate-limits/check?date=2041-01-10&eventTypeId=${id}`)).remaining;
  expect([(await left(one.id)).daily, (await left(other.id)).daily]).toEqual([1, 2]);
  expect(await problems(scene, 'PUT', 'rate-limits', { dailyMax: 1, hostId: unknown })).toEqual([400, 'hostId']);
  expect((await scene.request('GET', `rate-limits?hostId=${unknown}`)).status).toBe(404);
});

test('a host with confirmed bookings is not deleted; without them it goes with what names it', async () => {
  const scene = await newScene();
  const { host, id } = await scene.offer();
  const booking = (await scene.book(id, at('09:00'))).body.data;
  await scene.make('blackout-periods', { name: 'Away', start: '2041-02-01', end: '2041-02-01', hostId: host });
  await scene.put('business-hours', { exceptions: [{ date: day, hours: ['09:00-17:00'], hostId: host }] });
  await scene.request('DELETE', `event-types/${id}`);
  const refused = await scene.request('DELETE', `hosts/${host}`);
  expect(refused).toMatchObject({
    status: 409,
    body: { error: { code: 'conflict', details: { bookings: 1 } } },
  });
  await scene.request('DELETE', `bookings/${booking.id}`);
  expect((await scene.request('DELETE', `hosts/${host}`)).status).toBe(200);
  expect((await scene.get('blackout-periods')).blackoutPeriods).toEqual([]);
  expect((await scene.get('business-hours')).exceptions).toEqual([]);
  expect((await scene.get(`bookings/${booking.id}`)).hostId).toBe(host);
});

test('a host is deleted while another process makes a booking of it', async () => {
  const tenant = await newTenant();
  const scene = sceneOf(apiClient(product.process.api, tenant.testKey));
  const { id } = await scene.make('hosts', { name: 'Leaves' });
  const uuid = hostIds.parse(id);
  const { pool } = product.database;
  const lock = `hashtextextended('${organizationIds.parse(tenant.organizationId)}:test:bookings of ${uuid}', 0)`;
  // As a booking does: it locks what is booked of the host, and the host's row when it is written.
  const { deletion } = await whileHeld(product, `select pg_advisory_xact_lock(${lock})`, async (booker) => {
    const deletion = scene.request('DELETE', `hosts/${id}`);
    await until('the deletion waits', async () => {
      const { rows } = await pool.query(
        `select from pg_locks where not granted and locktype = 'advisory' and (classid::bigint << 32 | objid::bigint) = ${lock}`,
      );
      return rows.length > 0;
    });
    await booker.query('select from scheduling_host where id = $1 for key share', [uuid]);
    return { deletion };
  });
  expect((await deletion).status).toBe(200);
});
