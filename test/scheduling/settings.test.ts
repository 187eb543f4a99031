import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { outcomeOf, sceneOf, stillAs } from './scene.ts';

/** As it is published. */
const lastDay = 'longestEnd';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
});
afterAll(() => product.close());

const newScene = async (plan = 'enterprise') =>
  sceneOf(apiClient(product.process.api, (await product.createTenant({ plan })).testKey));

test('a tenant that set nothing offers Monday to Friday, 9 to 17, of its default host', async () => {
  const mine = await newScene();
  const eventType = await mine.make('event-types', { name: 'Plain', duration: 480 });
  expect(eventType).toMatchObject({
    slug: 'plain',
    description: null,
    locations: [],
    bufferBefore: 0,
    bufferAfter: 0,
    minNotice: 0,
    maxAdvance: null,
    questions: [],
    isActive: true,
    hostId: null,
  });
  expect(await mine.open(eventType.id, '2040-06-10', '2040-06-12')).toEqual([
    '2040-06-11T09:00:00.000Z',
    '2040-06-12T09:00:00.000Z',
  ]);
  const { hosts } = await mine.get('hosts');
  expect(hosts).toMatchObject([{ timezone: 'UTC', isDefault: true }]);
  const refused = await mine.request('DELETE', `hosts/${hosts[0].id}`);
  expect(outcomeOf(refused)).toMatchObject({ status: 409, code: 'conflict' });
});

test('names that mails show on one line have no control characters', async () => {
  for (const [path, body] of [
    ['event-types', { name: 'Intro\r\nBcc: eve@example.com', duration: 30 }],
    ['hosts', { name: 'Ada\u2028' }],
    // Shown as "Ada xe.lobby".
    ['hosts', { name: 'Ada \u202eybbol.ex' }],
    ['hosts', { name: 'Ada \u2066x\u2069' }],
  ] as const) {
    const { status, body: answer } = await scene.request('POST', path, body);
    expect([status, answer.error.details.errors]).toEqual([
      400,
      [{ path: 'name', message: 'Expected no control characters.' }],
    ]);
  }
});

test('slugs are unique among the event types that there are', async () => {
  const mine = await newScene();
  const make = (body: object) => mine.request('POST', 'event-types', { duration: 30, ...body });
  const slugs = [];
  for (const name of ['Crème brûlée!', 'Creme Brulee', '?!']) slugs.push((await make({ name })).body.data.slug);
  expect(slugs).toEqual(['creme-brulee', 'creme-brulee-2', 'event']);
  const occupied = await make({ name: 'Other', slug: 'event' });
  expect(occupied).toMatchObject({ status: 409, body: { error: { code: 'conflict', details: { slug: 'event' } } } });
  const { eventTypes } = await mine.get('event-types');
  expect(eventTypes.map(({ slug }: { slug: string }) => slug)).toEqual(slugs.toReversed());
  const [event] = eventTypes;
  expect((await mine.request('PATCH', `event-types/${event.id}`, { slug: 'creme-brulee' })).status).toBe(409);
  expect((await mine.request('PATCH', `event-types/${event.id}`, { name: 'Same', slug: 'event' })).body.data).toEqual({
    ...event,
    name: 'Same',
    updatedAt: expect.any(String),
  });
  expect((await mine.request('PATCH', `event-types/${event.id}`, {})).status).toBe(200);
  expect((await mine.request('DELETE', `event-types/${event.id}`)).body.data).toEqual({ id: event.id, deleted: true });
  expect((await mine.request('GET', `event-types/${event.id}`)).status).toBe(404);
  expect((await make({ name: 'Other', slug: 'event' })).status).toBe(201);
});

test('a booking outlives its event type and can be cancelled, not moved', async () => {
  const eventType = await scene.offer();
  const booking = (await scene.book(eventType.id, '2041-01-09T10:00:00Z')).body.data;
  await scene.request('DELETE', `event-types/${eventType.id}`);
  expect(await scene.get(`bookings/${booking.id}`)).toMatchObject(stillAs(booking));
  const newStart = '2041-01-09T12:00:00Z';
  const moved = await scene.request('PATCH', `bookings/${booking.id}/reschedule`, { newStart });
  expect(outcomeOf(moved)).toEqual({ status: 422, code: 'outside_availability', reason: 'inactive' });
  expect(outcomeOf(await scene.book(eventType.id, newStart))).toMatchObject({ status: 404 });
  expect((await scene.request('DELETE', `bookings/${booking.id}`)).body.data.status).toBe('cancelled');
});

test('hosts have hours and bookings of their own', async () => {
  const [one, two] = [await scene.offer(), await scene.offer({}, { timezone: 'Asia/Kolkata', hours: ['09:30-12:00'] })];
  expect(await scene.open(two.id, '2041-01-09')).toEqual(['2041-01-09T04:00:00.000Z', '2041-01-09T05:00:00.000Z']);
  expect(await scene.open(two.id, '2041-01-09', '2041-01-09', 'Asia/Kolkata')).toEqual([
    '2041-01-09T09:30:00.000+05:30',
    '2041-01-09T10:30:00.000+05:30',
  ]);
  for (const { id } of [one, two]) expect((await scene.book(id, '2041-01-09T04:00:00Z')).status).toBe(201);
  const rules = await scene.get(`availability/rules?hostId=${two.host}`);
  expect(rules).toMatchObject({ timezone: 'Asia/Kolkata', weeklyHours: { monday: ['09:30-12:00'] } });
  expect((await scene.request('GET', 'availability/rules?hostId=hst_none')).status).toBe(404);
  expect(outcomeOf(await scene.request('DELETE', `hosts/${two.host}`))).toMatchObject({ status: 409 });
  await scene.request('DELETE', `event-types/${two.id}`);
  const { bookings } = await scene.get(`bookings?eventTypeId=${two.id}`);
  for (const { id } of bookings) await scene.request('DELETE', `bookings/${id}`);
  expect((await scene.request('DELETE', `hosts/${two.host}`)).body.data).toEqual({ deleted: true });
  expect((await scene.request('POST', 'event-types', { name: 'x', duration: 5, hostId: two.host })).status).toBe(404);
});

test('what is set is shown as it was sent, and what is wrong is named', async () => {
  const mine = await newScene();
  const weeklyHours = { tuesday: ['23:00-23:59', '09:00-10:00'], friday: [], sunday: null };
  expect(await mine.put('availability/rules', { timezone: 'US/Eastern', weeklyHours })).toEqual({
    timezone: 'US/Eastern',
    weeklyHours: {
      monday: null,
      tuesday: ['23:00-23:59', '09:00-10:00'],
      wednesday: null,
      thursday: null,
      friday: [],
      saturday: null,
      sunday: null,
    },
  });
  const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
  expect(Object.keys((await mine.get('availability/rules')).weeklyHours)).toEqual(days);
  const hours = { timezone: 'Asia/Kathmandu', holidays: ['de-by'], exceptions: [{ date: '2040-02-29', hours: null }] };
  const shown = { ...hours, default: null };
  expect(await mine.put('business-hours', hours)).toEqual(shown);
  expect(await mine.get('business-hours')).toEqual(shown);
  const unset = { timezone: null, default: null, exceptions: [], holidays: [] };
  expect(await mine.put('business-hours', unset)).toEqual(unset);
  const problems = async (path: string, body: object) => {
    const { status, body: answer } = await mine.request('PUT', path, body);
    return [status, ...answer.error.details.errors.map((one: { path: string }) => one.path)];
  };
  const rules = (given: object) => problems('availability/rules', { timezone: 'UTC', weeklyHours: given });
  expect(await rules({ Monday: [] })).toEqual([400, 'weeklyHours']);
  expect(await rules({ monday: ['10:00-09:00', '9:00-10:00'] })).toEqual([
    400,
    'weeklyHours.monday.0',
    'weeklyHours.monday.1',
  ]);
  const exceptions = [hours.exceptions[0]!, { date: '2040-02-30', hours: null }, hours.exceptions[0]!];
  expect(await problems('business-hours', { exceptions })).toEqual([400, 'exceptions.1.date', 'exceptions.2.date']);
  expect(await problems('business-hours', { holidays: ['DE', 'XX'] })).toEqual([400, 'holidays.1']);
  expect(await problems('rate-limits', { dailyMax: 9, monthlyMax: 5 })).toEqual([400, 'monthlyMax']);
  const times = { start: '2040-06-12T09:00+02:00', end: '2040-06-12T12:30:00.0Z', allDay: false };
  expect(await mine.make('blackout-periods', { name: 'Drill', ...times })).toMatchObject({
    start: '2040-06-12T07:00:00.000Z',
    end: '2040-06-12T12:30:00.000Z',
    allDay: false,
    recurring: false,
  });
  const limits = { dailyMax: 3, weeklyMax: null, monthlyMax: 5, consecutiveMax: null, minGapMinutes: null };
  expect(await mine.put('rate-limits', { dailyMax: 3, monthlyMax: 5 })).toEqual(limits);
  expect(await mine.get('rate-limits')).toEqual(limits);
});

test('the most that can be asked for is answered, and more is refused', async () => {
  const mine = await newScene();
  const eventType = await mine.offer({ duration: 1 });
  const exceptions = Array.from({ length: 500 }, (_, n) => ({
    date: new Date(Date.UTC(2040, 0, 1 + n)).toISOString().slice(0, 10),
    hours: Array.from(
      { length: 24 },
      (_, hour) => `${String(hour).padStart(2, '0')}:00-${String(hour + 1).padStart(2, '0')}:00`,
    ),
  }));
  await mine.put('business-hours', { exceptions, holidays: ['DE', 'US'] });
  for (let n = 0; n < 20; n++) {
    const blackout = { name: `Blackout ${n}`, start: '2030-12-24', end: `2031-12-${10 + n}`, recurring: n % 2 > 0 };
    expect((await mine.request('POST', 'blackout-periods', blackout)).status).toBe(n < 15 ? 201 : 400);
  }
  const query = (end: string) => `availability?eventTypeId=${eventType.id}&start=2040-01-01&end=${end}`;
  const { body } = await mine.request('GET', query('2040-04-01'));
  expect(body.data.slots).toEqual([]);
  for (const { id } of (await mine.get('blackout-periods')).blackoutPeriods) {
    await mine.request('DELETE', `blackout-periods/${id}`);
  }
  // Six days of a time each minute are the most that one answer has; the longest range is 92 days.
  expect((await mine.request('GET', query('2040-01-06'))).body.data.slots).toHaveLength(6 * 1_440);
  expect(await mine.request('GET', query('2040-04-01'))).toMatchObject({
    status: 400,
    body: { error: { details: { slots: 10_000, [lastDay]: '2040-01-06' } } },
  });
  expect((await mine.request('GET', query('2040-04-02'))).status).toBe(400);
  const more = [...exceptions, { date: '2050-01-01', hours: null }];
  expect((await mine.request('PUT', 'business-hours', { exceptions: more })).status).toBe(400);
});

test('a plan limits what is kept', async () => {
  const mine = await newScene('free');
  const make = (n: number) => mine.request('POST', 'hosts', { name: `Host ${n}` });
  const answers = [];
  for (let n = 0; n < 6; n++) answers.push((await make(n)).status);
  expect(answers).toEqual([201, 201, 201, 201, 201, 403]);
  expect((await make(7)).body.error.details).toEqual({ limit: 5, plan: 'free' });
});
