import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AppError } from '../../src/platform/errors.ts';
import { Scope } from '../../src/platform/scope.ts';
import { BookingPages } from '../../src/scheduling/booking-pages.ts';
import { newBookingTurns } from '../../src/scheduling/booking-turns.ts';
import { eventTypeIds } from '../../src/scheduling/core/ids.ts';
import { createBooking } from '../../src/scheduling/create-booking.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { sceneOf, told } from './scene.ts';

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

const isBuffer = (code: string) => code === 'buffer_conflict';
const day = '2040-06-12';
const at = (time: string, on = day) => `${on}T${time}:00Z`;

describe('a booking', () => {
  test('is made, read, listed, moved and cancelled, and each change tells its webhooks once', async () => {
    const mine = await newScene();
    const hook = await mine.make('webhooks', {
      events: ['booking.created', 'booking.rescheduled', 'booking.cancelled'],
      url: 'https://hooks.example.com/bookings',
    });
    expect(hook).toMatchObject({ name: 'Scheduling', isActive: true, secret: expect.stringMatching(/^whsec_/) });
    const locations = [
      { type: 'phone', number: '+49 (30) 123' },
      { type: 'office', address: 'Here 1' },
    ];
    const eventType = await mine.offer({ locations, bufferAfter: 15 });
    const dry = await mine.request('POST', 'bookings?dryRun=true', {
      ...{ eventTypeId: eventType.id, start: at('10:00'), attendee: mine.attendee },
      location: { type: 'office' },
    });
    expect([dry.status, dry.body.data]).toEqual([
      200,
      {
        ...{ eventTypeId: eventType.id, start: `${day}T10:00:00.000Z`, end: `${day}T11:00:00.000Z` },
        location: { type: 'office', url: null },
      },
    ]);
    const more = { responses: { Other: 'kept' }, metadata: { order: 7 } };
    const made = await mine.book(eventType.id, `${day}T12:00+02:00`, more);
    expect(made.status).toBe(201);
    const booking = made.body.data;
    expect(booking).toMatchObject({
      ...{ status: 'confirmed', start: `${day}T10:00:00.000Z`, end: `${day}T11:00:00.000Z`, ...more },
      attendee: { ...mine.attendee, phone: null, timezone: 'UTC' },
      ...{ location: { type: 'phone', url: 'tel:+4930123' }, rescheduleCount: 0 },
    });
    expect(await mine.get(`bookings/${booking.id}`)).toEqual(booking);

    const path = `bookings/${booking.id}`;
    const move = (newStart: string) => mine.request('PATCH', `${path}/reschedule`, { newStart, reason: 'A clash.' });
    // Its own time is free for itself, buffers and all; the length and the buffer stay as booked.
    await mine.request('PATCH', `event-types/${eventType.id}`, { duration: 30, bufferAfter: 0 });
    const moved = (await move(at('10:30'))).body.data;
    expect(moved).toMatchObject({
      ...{ id: booking.id, start: `${day}T10:30:00.000Z`, end: `${day}T11:30:00.000Z`, rescheduleCount: 1 },
      ...{ previousStart: booking.start, previousEnd: booking.end, rescheduleReason: 'A clash.' },
    });
    expect((await move(at('10:30'))).body.data).toEqual(moved);
    expect((await move(at('14:00'))).body.data.rescheduleCount).toBe(2);
    expect(told(await mine.book(eventType.id, at('15:00')))).toMatchObject({ code: 'buffer_conflict' });

    const cancel = (body?: object) => mine.request('DELETE', path, body);
    const cancelled = (await cancel({ reason: 'Ill.' })).body.data;
    expect(cancelled).toMatchObject({ status: 'cancelled', cancellationReason: 'Ill.' });
    expect((await cancel({ reason: 'Again.' })).body.data).toEqual(cancelled);
    expect(told(await move(at('16:00')))).toEqual({ status: 400, code: 'validation_error', reason: 'cancelled' });
    expect((await mine.book(eventType.id, at('14:00'))).status).toBe(201);

    const list = (query: string) => mine.get(`bookings?eventTypeId=${eventType.id}${query}`);
    expect((await list('')).bookings.map(({ status }: { status: string }) => status).sort()).toEqual([
      'cancelled',
      'confirmed',
    ]);
    expect((await list('&status=Cancelled')).bookings).toEqual([cancelled]);
    expect((await list(`&start=${day}&end=${day}&limit=1`)).pagination).toMatchObject({ total: 2, hasMore: true });
    expect((await list('&start=2040-06-13')).pagination.total).toBe(0);
    expect((await mine.get('bookings?eventTypeId=nonsense')).pagination.total).toBe(0);

    // Every change is an event of its own, and its body says its type twice.
    const deliveries = (await mine.at(`/v1/webhooks/${hook.id}/deliveries`)).deliveries.toReversed().slice(0, 4);
    expect(deliveries.map((one: { eventType: string }) => one.eventType)).toEqual([
      ...['booking.created', 'booking.rescheduled', 'booking.rescheduled', 'booking.cancelled'],
    ]);
    const bodyOf = async ({ id }: { id: string }) =>
      JSON.parse((await mine.at(`/v1/webhooks/${hook.id}/deliveries/${id}`)).requestBody);
    const bodies = await Promise.all(deliveries.map(bodyOf));
    const { id, eventTypeId, attendee, location } = booking;
    const same = { id, eventTypeId, attendee, location, ...more, source: 'api' };
    expect(bodies[0]).toEqual({
      ...{ id: expect.stringMatching(/^evt_/), type: 'booking.created', event: 'booking.created' },
      createdAt: expect.any(String),
      data: { ...same, status: 'confirmed', start: booking.start, end: booking.end, reason: null },
    });
    const moves = { reason: 'A clash.', status: 'confirmed', rescheduleCount: 1 };
    const previous = { previousStart: booking.start, previousEnd: booking.end };
    expect(bodies[1].data).toEqual({ ...same, ...moves, ...previous, start: moved.start, end: moved.end });
    expect(bodies[2].data).toMatchObject({ rescheduleCount: 2, previousStart: moved.start });
    expect(bodies[3].data).toMatchObject({ status: 'cancelled', reason: 'Ill.' });
  });

  test('of 200 requests for one time is made once, and the others are told that it is taken', async () => {
    const eventType = await scene.offer();
    const asked = Array.from({ length: 200 }, () => scene.book(eventType.id, at('09:00')));
    const answers = (await Promise.all(asked)).map((answer) => JSON.stringify(told(answer)));
    const counts = Object.fromEntries(
      [...new Set(answers)].map((one) => [one, answers.filter((other) => other === one).length]),
    );
    expect(counts).toEqual({
      [JSON.stringify({ status: 201 })]: 1,
      [JSON.stringify({ status: 409, code: 'slot_unavailable', reason: 'booked' })]: 199,
    });
    expect((await scene.get(`bookings?eventTypeId=${eventType.id}`)).pagination.total).toBe(1);
  });

  test('is made once by several processes, and no row gets past the constraint', async () => {
    const eventType = await scene.offer({ bufferBefore: 10 });
    const { organizationId } = product.tenant;
    const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' } as const;
    const attendee = { ...scene.attendee, phone: null, timezone: 'UTC' };
    const given = { eventTypeId: eventType.id, attendee, responses: {}, metadata: {}, location: undefined };
    // Turns of its own are what another process has.
    const elsewhere = (start: string) =>
      createBooking(
        { bookingTurns: newBookingTurns(), bookingPages: new BookingPages(undefined, 'http://localhost') },
        new Scope(product.database, tenant, 'elsewhere'),
        { ...given, start },
      ).then(
        () => 'booked',
        ({ code }: AppError) => code,
      );
    const here = async (start: string) => told(await scene.book(eventType.id, start)).code ?? 'booked';
    const starts = ['09:00', '09:30', '10:00', '10:30', '11:00'].map((time) => at(time));
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 ? here : elsewhere)(starts[n % starts.length]!)),
    );
    const { bookings } = await scene.get(`bookings?eventTypeId=${eventType.id}`);
    expect(outcomes.filter((one) => one === 'booked')).toHaveLength(bookings.length);
    expect(new Set(outcomes)).toEqual(new Set(['booked', 'slot_unavailable', ...outcomes.filter(isBuffer)]));
    const holds = bookings.map(({ start, end }: { start: string; end: string }) => [
      ...[Date.parse(start) - 600_000, Date.parse(end)],
    ]);
    for (const [index, [from]] of holds.entries())
      if (index > 0) expect(from).toBeGreaterThanOrEqual(holds[index - 1][1]);
    const copied = product.database.pool.query(
      `insert into booking select (jsonb_populate_record(b, jsonb_build_object('id', uuidv7(), 'token', null))).*
         from booking b where event_type_id = $1 limit 1`,
      [eventTypeIds.parse(eventType.id)],
    );
    await expect(copied).rejects.toMatchObject({ code: '23P01' });
  });

  test('wins or loses as a whole against others that overlap it', async () => {
    const eventType = await scene.offer({ duration: 30 });
    const first = (await scene.book(eventType.id, at('20:00'))).body.data;
    const starts = ['10:00', '10:10', '10:20'];
    const racing = [
      ...starts.flatMap((time) => [time, time]).map((time) => scene.book(eventType.id, at(time))),
      scene.request('PATCH', `bookings/${first.id}/reschedule`, { newStart: at('10:15') }),
    ];
    const answers = await Promise.all(racing);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(new Set(answers.map((one) => told(one).code))).toEqual(new Set([undefined, 'slot_unavailable']));
    const isMoved = answers.at(-1)!.status === 200;
    const now = await scene.get(`bookings/${first.id}`);
    if (!isMoved) expect(now).toEqual(first);
    expect((await scene.get(`bookings?eventTypeId=${eventType.id}`)).pagination.total).toBe(isMoved ? 1 : 2);
  });

  test('is made once per Idempotency-Key, which no refusal uses up', async () => {
    const eventType = await scene.offer();
    const key = (name: string) => ({ 'idempotency-key': `booking ${name}` });
    const first = await scene.book(eventType.id, at('09:00'), {}, key('one'));
    const again = await scene.book(eventType.id, at('09:00'), {}, key('one'));
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(told(await scene.book(eventType.id, at('11:00'), {}, key('one')))).toMatchObject({
      code: 'idempotency_key_reused',
    });
    const refused = () => scene.book(eventType.id, at('09:30'), {}, key('two'));
    expect(told(await refused())).toMatchObject({ status: 409, code: 'slot_unavailable' });
    await scene.request('DELETE', `bookings/${first.body.data.id}`);
    expect((await refused()).status).toBe(201);
  });
});

describe('a time is refused', () => {
  test('in the published order, with what the caller needs to know', async () => {
    const mine = await newScene();
    const eventType = await mine.offer({ minNotice: 24, maxAdvance: 30 }, { hours: ['09:00-17:00'] });
    const soon = new Date(Date.now() + 3 * 3_600_000).toISOString().replace(/:\d\d\.\d+Z/, ':00Z');
    expect(told(await mine.book(eventType.id, at('10:00', '2020-01-01')))).toEqual({
      ...{ status: 422, code: 'notice_too_short', reason: 'past' },
    });
    expect(told(await mine.book(eventType.id, soon))).toMatchObject({ code: 'notice_too_short', reason: 'notice' });
    expect(told(await mine.book(eventType.id, at('10:00')))).toMatchObject({ code: 'too_far_advance' });
    await mine.request('PATCH', `event-types/${eventType.id}`, { minNotice: 0, maxAdvance: null });
    expect(told(await mine.book(eventType.id, at('16:30')))).toEqual({
      ...{ status: 422, code: 'outside_availability', reason: 'closed' },
    });
    await mine.make('blackout-periods', { name: 'Closed', start: day, end: day });
    expect(told(await mine.book(eventType.id, at('16:30')))).toEqual({
      ...{ status: 422, code: 'blackout_period', reason: 'blackout' },
    });
    expect(await mine.open(eventType.id, day)).toEqual([]);
    const exceptions = [{ date: '2040-06-13', name: 'Short', hours: ['12:00-14:00'] }];
    await mine.put('business-hours', { exceptions, holidays: ['US'] });
    expect(await mine.open(eventType.id, '2040-06-13')).toEqual([
      '2040-06-13T12:00:00.000Z',
      '2040-06-13T13:00:00.000Z',
    ]);
    expect(told(await mine.book(eventType.id, at('10:00', '2040-06-13')))).toMatchObject({ reason: 'exception' });
    expect(told(await mine.book(eventType.id, at('10:00', '2040-07-04')))).toMatchObject({ reason: 'holiday' });
    const lunch = { name: 'Lunch', pattern: 'DAILY', timeStart: '12:00', timeEnd: '13:00', startDate: '2040-01-01' };
    const pattern = await mine.make('recurring-patterns', lunch);
    expect(told(await mine.book(eventType.id, at('11:30', '2040-06-14')))).toMatchObject({ reason: 'pattern' });
    const generated = await mine.request('POST', `recurring-patterns/${pattern.id}/generate`, {
      ...{ count: 2, fromDate: '2040-06-12' },
    });
    expect(generated.body.data.occurrences).toMatchObject([
      { date: day, dayOfWeek: 2, start: `${day}T12:00:00.000Z`, isException: true },
      { date: '2040-06-13', dayOfWeek: 3, isException: true },
    ]);
    await mine.request('PATCH', `event-types/${eventType.id}`, { isActive: false });
    expect(told(await mine.book(eventType.id, at('10:00', '2040-06-14')))).toMatchObject({ reason: 'inactive' });
    expect(await mine.open(eventType.id, '2040-06-14')).toEqual([]);
  });

  test('when a limit is reached, and only then', async () => {
    const mine = await newScene();
    const eventType = await mine.offer({}, { timezone: 'Asia/Dhaka' });
    await mine.put('rate-limits', { dailyMax: 2, weeklyMax: 3, consecutiveMax: 2, minGapMinutes: 30 });
    const book = (time: string, on = day) => mine.book(eventType.id, at(time, on));
    const check = () => mine.get(`rate-limits/check?eventTypeId=${eventType.id}&date=${day}`);
    expect(await check()).toEqual({
      ...{ allowed: true, remaining: { daily: 2, weekly: 3, monthly: null, consecutive: 2 } },
    });
    const first = (await book('08:00')).body.data;
    expect(told(await book('09:15'))).toEqual({ status: 409, code: 'rate_limit_exceeded', reason: 'minGapMinutes' });
    expect((await mine.open(eventType.id, day)).includes(`${day}T09:00:00.000Z`)).toBe(false);
    expect((await book('09:30')).status).toBe(201);
    expect(told(await book('11:00'))).toMatchObject({ reason: 'consecutiveMax' });
    // The host's day ends at 18:00 UTC.
    expect(told(await book('17:00'))).toMatchObject({ reason: 'dailyMax' });
    expect(await check()).toMatchObject({ allowed: false, remaining: { daily: 0, weekly: 1, consecutive: 0 } });
    expect((await book('18:00')).status).toBe(201);
    expect(told(await book('12:00', '2040-06-14'))).toMatchObject({ reason: 'weeklyMax' });
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
    expect(await paths({ location: { type: 'moon' } })).toEqual([400, 'location.type']);
    expect(await paths({ start: at('10:00').replace(':00Z', ':30Z') })).toEqual([400, 'start']);
    expect(await paths({ start: '2040-06-12T10:00:00' })).toEqual([400, 'start']);
    expect(await paths({ attendee: { name: 'x\r\nBcc: y', email: 'none', timezone: '+02:00' } })).toEqual([
      ...[400, 'attendee.name', 'attendee.email', 'attendee.timezone'],
    ]);
    expect(await paths({ metadata: { text: 'x'.repeat(17 * 1024) } })).toEqual([400, 'metadata']);
    const unknown = await scene.book('et_unknown', at('10:00'));
    expect(unknown).toMatchObject({ status: 404, body: { error: { details: { eventTypeId: 'et_unknown' } } } });
    const availability = (query: string) => scene.request('GET', `availability?eventTypeId=${eventType.id}${query}`);
    for (const query of ['&start=2040-01-01', '&start=2040-01-02&end=2040-01-01', '&start=2040-01-01&end=2040-04-02']) {
      expect(told(await availability(query))).toMatchObject({ status: 400 });
    }
    expect((await availability('&start=2040-01-01&end=2040-04-01')).status).toBe(200);
  });
});
