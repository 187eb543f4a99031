import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient, untilTaken } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { outcomeOf, sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let scene: ReturnType<typeof sceneOf>;
beforeAll(async () => {
  product = await sharedProduct();
  scene = sceneOf(product.api);
});
afterAll(() => product.close());

/** A tenant of its own, for what holds for all hosts. */
const newScene = async () =>
  sceneOf(apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey));

const day = '2040-06-12';
const at = (time: string, on = day) => `${on}T${time}:00Z`;

describe('a time is refused', () => {
  test('in the published order, with what the caller needs to know', async () => {
    const mine = await newScene();
    const eventType = await mine.offer({ minNotice: 24, maxAdvance: 30 }, { hours: ['09:00-17:00'] });
    const soon = new Date(Date.now() + 3 * 3_600_000).toISOString().replace(/:\d\d\.\d+Z/, ':00Z');
    expect(outcomeOf(await mine.book(eventType.id, at('10:00', '2020-01-01')))).toEqual({
      status: 422,
      code: 'notice_too_short',
      reason: 'past',
    });
    expect(outcomeOf(await mine.book(eventType.id, soon))).toMatchObject({
      code: 'notice_too_short',
      reason: 'notice',
    });
    expect(outcomeOf(await mine.book(eventType.id, at('10:00')))).toMatchObject({ code: 'too_far_advance' });
    await mine.request('PATCH', `event-types/${eventType.id}`, { minNotice: 0, maxAdvance: null });
    expect(outcomeOf(await mine.book(eventType.id, at('16:30')))).toEqual({
      status: 422,
      code: 'outside_availability',
      reason: 'closed',
    });
    await mine.make('blackout-periods', { name: 'Closed', start: day, end: day });
    expect(outcomeOf(await mine.book(eventType.id, at('16:30')))).toEqual({
      status: 422,
      code: 'blackout_period',
      reason: 'blackout',
    });
    expect(await mine.open(eventType.id, day)).toEqual([]);
    const exceptions = [{ date: '2040-06-13', name: 'Short', hours: ['12:00-14:00'] }];
    await mine.put('business-hours', { exceptions, holidays: ['US'] });
    expect(await mine.open(eventType.id, '2040-06-13')).toEqual([
      '2040-06-13T12:00:00.000Z',
      '2040-06-13T13:00:00.000Z',
    ]);
    expect(outcomeOf(await mine.book(eventType.id, at('10:00', '2040-06-13')))).toMatchObject({ reason: 'exception' });
    expect(outcomeOf(await mine.book(eventType.id, at('10:00', '2040-07-04')))).toMatchObject({ reason: 'holiday' });
    const lunch = { name: 'Lunch', pattern: 'DAILY', timeStart: '12:00', timeEnd: '13:00', startDate: '2040-01-01' };
    const pattern = await mine.make('recurring-patterns', lunch);
    expect(outcomeOf(await mine.book(eventType.id, at('11:30', '2040-06-14')))).toMatchObject({ reason: 'pattern' });
    const generated = await mine.request('POST', `recurring-patterns/${pattern.id}/generate`, {
      count: 2,
      fromDate: '2040-06-12',
    });
    expect(generated.body.data.occurrences).toMatchObject([
      { date: day, dayOfWeek: 2, start: `${day}T12:00:00.000Z`, isException: true },
      { date: '2040-06-13', dayOfWeek: 3, isException: true },
    ]);
    await mine.request('PATCH', `event-types/${eventType.id}`, { isActive: false });
    expect(outcomeOf(await mine.book(eventType.id, at('10:00', '2040-06-14')))).toMatchObject({ reason: 'inactive' });
    expect(await mine.open(eventType.id, '2040-06-14')).toEqual([]);
  });

  test('when a limit is reached, and only then', async () => {
    const mine = await newScene();
    const eventType = await mine.offer({}, { timezone: 'Asia/Dhaka' });
    await mine.put('rate-limits', { dailyMax: 2, weeklyMax: 3, consecutiveMax: 2, minGapMinutes: 30 });
    const book = (time: string, on = day) => mine.book(eventType.id, at(time, on));
    const check = () => mine.get(`rate-limits/check?eventTypeId=${eventType.id}&date=${day}`);
    expect(await check()).toEqual({
      allowed: true,
      remaining: { daily: 2, weekly: 3, monthly: null, consecutive: 2 },
    });
    const first = (await book('08:00')).body.data;
    expect(outcomeOf(await book('09:15'))).toEqual({
      status: 409,
      code: 'rate_limit_exceeded',
      reason: 'minGapMinutes',
    });
    expect((await mine.open(eventType.id, day)).includes(`${day}T09:00:00.000Z`)).toBe(false);
    expect((await book('09:30')).status).toBe(201);
    expect(outcomeOf(await book('11:00'))).toMatchObject({ reason: 'consecutiveMax' });
    // The host's day ends at 18:00 UTC.
    expect(outcomeOf(await book('17:00'))).toMatchObject({ reason: 'dailyMax' });
    expect(await check()).toMatchObject({ allowed: false, remaining: { daily: 0, weekly: 1, consecutive: 0 } });
    expect((await book('18:00')).status).toBe(201);
    expect(outcomeOf(await book('12:00', '2040-06-14'))).toMatchObject({ reason: 'weeklyMax' });
    const moved = await mine.request('PATCH', `bookings/${first.id}/reschedule`, { newStart: at('06:00') });
    expect(moved.status).toBe(200);
    const inB = await mine.request(
      'POST',
      'bookings',
      { eventTypeId: eventType.id, start: at('12:00', '2040-06-14'), attendee: mine.attendee },
      { 'x-api-variant': 'B' },
    );
    expect(inB).toMatchObject({ status: 409, body: { success: false, error: { code: 'RATE_LIMITED' } } });
    expect(inB.headers.get('retry-after')).toBeNull();
  });

  test('exactly when it is not offered, around a change of the clocks too', async () => {
    const mine = await newScene();
    const times = { duration: 45, bufferBefore: 10, bufferAfter: 20 };
    const hours = ['00:00-05:00', '09:00-12:00'];
    const { id } = await mine.offer(times, { timezone: 'America/New_York', hours });
    const tea = { name: 'Tea', pattern: 'DAILY', timeStart: '10:00', timeEnd: '10:30', startDate: '2040-03-01' };
    await mine.make('recurring-patterns', tea);
    const drill = { start: '2040-03-11T14:00:00Z', end: '2040-03-11T14:20:00Z', allDay: false };
    await mine.make('blackout-periods', { name: 'Drill', ...drill });
    await mine.put('rate-limits', { dailyMax: 2, minGapMinutes: 40 });
    for (const start of ['2040-03-10T05:45:00Z', '2040-03-11T06:00:00Z', '2040-03-11T13:00:00Z']) {
      expect((await mine.book(id, start)).status).toBe(201);
    }
    const query = new URLSearchParams({
      eventTypeId: id,
      start: '2040-03-10',
      end: '2040-03-12',
      timezone: 'Asia/Tokyo',
    });
    const { slots } = await mine.get(`availability?${query}`);
    const tried = await Promise.all(
      slots.map(async ({ start, available }: { start: string; available: boolean }) => {
        const body = { eventTypeId: id, start, attendee: mine.attendee };
        const { status } = await untilTaken('it is tried', () => mine.request('POST', 'bookings?dryRun=true', body));
        return { start, available, isBookable: status === 200 };
      }),
    );
    expect(tried.filter(({ available, isBookable }) => available !== isBookable)).toEqual([]);
    expect(new Set(tried.map(({ available }) => available))).toEqual(new Set([true, false]));
  });

  test('when others take the last place of a day at the same time', async () => {
    const mine = await newScene();
    const { id } = await mine.offer();
    await mine.put('rate-limits', { dailyMax: 3 });
    const starts = Array.from({ length: 12 }, (_, hour) => at(`${String(hour + 8).padStart(2, '0')}:00`));
    const answers = await Promise.all(starts.map((start) => mine.book(id, start)));
    const counts = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect([counts(201), counts(409)]).toEqual([3, 9]);
  });

  test('with a word for each thing that is wrong with the request', async () => {
    const questions = [
      { label: 'Company', type: 'text', required: true },
      { label: 'Terms', type: 'checkbox', required: true },
    ];
    const eventType = await scene.offer({ questions });
    const paths = async (body: object) => {
      const { status, body: answer } = await scene.book(eventType.id, at('10:00'), body);
      return [status, ...answer.error.details.errors.map(({ path }: { path: string }) => path)];
    };
    expect(await paths({})).toEqual([400, 'responses.Company', 'responses.Terms']);
    const responses = { Company: ' ', Terms: 'yes' };
    expect(await paths({ responses })).toEqual([400, 'responses.Company', 'responses.Terms']);
    const typed = await scene.offer({
      questions: [
        { label: 'Note', type: 'textarea' },
        { label: 'Other', type: 'email' },
        { label: 'Phone', type: 'phone' },
        { label: 'Seats', type: 'number' },
        { label: 'News', type: 'checkbox' },
        { label: 'Size', type: 'select', options: ['S', 'M'] },
      ],
    });
    const answered = async (given: object) => {
      const { status, body: answer } = await scene.book(typed.id, at('10:00'), { responses: given });
      return [status, ...(answer.error?.details.errors ?? []).map(({ path }: { path: string }) => path)];
    };
    const wrong = { Note: ['x'], Other: 'none', Phone: 'call me', Seats: 'two', News: 'yes', Size: 'L' };
    expect(await answered(wrong)).toEqual([400, ...Object.keys(wrong).map((label) => `responses.${label}`)]);
    expect(await answered({ Note: 7, Seats: true, Size: 3 })).toEqual([
      400,
      'responses.Note',
      'responses.Seats',
      'responses.Size',
    ]);
    const right = { Note: 'x\ny', Other: 'a@b.example', Phone: '+49 (30) 12-34', Seats: '2', News: false, Size: 'M' };
    expect(await answered({ ...right, Seats: null, Unknown: [1] })).toEqual([201]);
    expect(await paths({ location: { type: 'moon' } })).toEqual([400, 'location.type']);
    expect(await paths({ start: at('10:00').replace(':00Z', ':30Z') })).toEqual([400, 'start']);
    expect(await paths({ start: '2040-06-12T10:00:00' })).toEqual([400, 'start']);
    expect(
      await paths({ attendee: { name: 'x\r\nBcc: y', email: 'none', phone: '1\n2', timezone: '+02:00' } }),
    ).toEqual([400, 'attendee.name', 'attendee.email', 'attendee.phone', 'attendee.timezone']);
    const attendee = { name: 'Eve \u202e', email: 'eve@example.com', timezone: 'UTC' };
    expect(await paths({ attendee })).toEqual([400, 'attendee.name']);
    expect(await paths({ metadata: { text: 'x'.repeat(17 * 1024) } })).toEqual([400, 'metadata']);
    const unknown = await scene.book('et_unknown', at('10:00'));
    expect(unknown).toMatchObject({ status: 404, body: { error: { details: { eventTypeId: 'et_unknown' } } } });
    const availability = (query: string) => scene.request('GET', `availability?eventTypeId=${eventType.id}${query}`);
    for (const query of ['&start=2040-01-01', '&start=2040-01-02&end=2040-01-01', '&start=2040-01-01&end=2040-04-02']) {
      expect(outcomeOf(await availability(query))).toMatchObject({ status: 400 });
    }
    expect((await availability('&start=2040-01-01&end=2040-04-01')).status).toBe(200);
  });
});
