import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import type { AppError } from '../../src/platform/errors.ts';
import { newId } from '../../src/platform/ids.ts';
import { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import { BookingQueues } from '../../src/scheduling/bookings/booking-queues.ts';
import { createBooking } from '../../src/scheduling/bookings/create-booking.ts';
import { eventTypeIds } from '../../src/scheduling/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { outcomeOf, sceneOf, stillAs } from './scene.ts';

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
  test('is made, read, listed, moved and cancelled, and each change notifies its webhooks once', async () => {
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
      eventTypeId: eventType.id,
      start: at('10:00'),
      attendee: mine.attendee,
      location: { type: 'office' },
    });
    expect([dry.status, dry.body.data]).toEqual([
      200,
      {
        eventTypeId: eventType.id,
        start: `${day}T10:00:00.000Z`,
        end: `${day}T11:00:00.000Z`,
        location: { type: 'office', url: null },
      },
    ]);
    const more = { responses: { Other: 'kept' }, metadata: { order: 7 } };
    const made = await mine.book(eventType.id, `${day}T12:00+02:00`, more);
    expect(made.status).toBe(201);
    const booking = made.body.data;
    expect(booking).toMatchObject({
      status: 'confirmed',
      start: `${day}T10:00:00.000Z`,
      end: `${day}T11:00:00.000Z`,
      ...more,
      attendee: { ...mine.attendee, phone: null, timezone: 'UTC' },
      location: { type: 'phone', url: 'tel:+4930123' },
      rescheduleCount: 0,
    });
    expect(await mine.get(`bookings/${booking.id}`)).toMatchObject(stillAs(booking));

    const path = `bookings/${booking.id}`;
    const move = (newStart: string) => mine.request('PATCH', `${path}/reschedule`, { newStart, reason: 'A clash.' });
    // Its own time is free for itself, buffers and all; the length and the buffer stay as booked.
    await mine.request('PATCH', `event-types/${eventType.id}`, { duration: 30, bufferAfter: 0 });
    const moved = (await move(at('10:30'))).body.data;
    expect(moved).toMatchObject({
      id: booking.id,
      start: `${day}T10:30:00.000Z`,
      end: `${day}T11:30:00.000Z`,
      rescheduleCount: 1,
      previousStart: booking.start,
      previousEnd: booking.end,
      rescheduleReason: 'A clash.',
    });
    expect((await move(at('10:30'))).body.data).toMatchObject(stillAs(moved));
    expect((await move(at('14:00'))).body.data.rescheduleCount).toBe(2);
    expect(outcomeOf(await mine.book(eventType.id, at('15:00')))).toMatchObject({ code: 'buffer_conflict' });

    const cancel = (body?: object) => mine.request('DELETE', path, body);
    const cancelled = (await cancel({ reason: 'Ill.' })).body.data;
    expect(cancelled).toMatchObject({ status: 'cancelled', cancellationReason: 'Ill.' });
    expect((await cancel({ reason: 'Again.' })).body.data).toMatchObject(stillAs(cancelled));
    expect(outcomeOf(await move(at('16:00')))).toEqual({ status: 400, code: 'validation_error', reason: 'cancelled' });
    expect((await mine.book(eventType.id, at('14:00'))).status).toBe(201);

    const list = (query: string) => mine.get(`bookings?eventTypeId=${eventType.id}${query}`);
    expect((await list('')).bookings.map(({ status }: { status: string }) => status).sort()).toEqual([
      'cancelled',
      'confirmed',
    ]);
    expect((await list('&status=Cancelled')).bookings).toMatchObject([stillAs(cancelled)]);
    expect((await list(`&start=${day}&end=${day}&limit=1`)).pagination).toMatchObject({ total: 2, hasMore: true });
    expect((await list('&start=2040-06-13')).pagination.total).toBe(0);
    expect((await mine.get('bookings?eventTypeId=nonsense')).pagination.total).toBe(0);
    expect((await list('&start=1970-01-01&end=9999-12-31')).pagination).toEqual((await list('')).pagination);

    // Every change is an event of its own, and its body says its type twice.
    const deliveries = (await mine.at(`/v1/webhooks/${hook.id}/deliveries`)).deliveries.toReversed().slice(0, 4);
    expect(deliveries.map((one: { eventType: string }) => one.eventType)).toEqual([
      'booking.created',
      'booking.rescheduled',
      'booking.rescheduled',
      'booking.cancelled',
    ]);
    const bodyOf = async ({ id }: { id: string }) =>
      JSON.parse((await mine.at(`/v1/webhooks/${hook.id}/deliveries/${id}`)).requestBody);
    const bodies = await Promise.all(deliveries.map(bodyOf));
    const { id, eventTypeId, hostId, attendee, location } = booking;
    const same = { id, eventTypeId, hostId, attendee, location, ...more, source: 'api' };
    expect(bodies[0]).toEqual({
      id: expect.stringMatching(/^evt_/),
      type: 'booking.created',
      event: 'booking.created',
      createdAt: expect.any(String),
      data: { ...same, status: 'confirmed', start: booking.start, end: booking.end, reason: null },
    });
    const moves = { reason: 'A clash.', status: 'confirmed', rescheduleCount: 1 };
    const previous = { previousStart: booking.start, previousEnd: booking.end };
    expect(bodies[1].data).toEqual({ ...same, ...moves, ...previous, start: moved.start, end: moved.end });
    expect(bodies[2].data).toMatchObject({ rescheduleCount: 2, previousStart: moved.start });
    expect(bodies[3].data).toMatchObject({ status: 'cancelled', reason: 'Ill.' });
  });

  test('keeps the order of the members of its responses and metadata, in answers and webhooks', async () => {
    const mine = await newScene();
    const hook = await mine.make('webhooks', { events: ['booking.created'], url: 'https://hooks.example.com/order' });
    const eventType = await mine.offer();
    const sent = { zulu: 1, a: [{ y: 1, bb: 2 }], '10': true, '2': 'two', mm: null };
    const keyed = { 'idempotency-key': 'order-of-members' };
    const more = { responses: { Zoo: 'x', A: 'y' }, metadata: sent };
    const made = await mine.book(eventType.id, at('10:00'), more, keyed);
    const again = await mine.book(eventType.id, at('10:00'), more, keyed);
    expect([made.status, again.status]).toEqual([201, 201]);
    const { id } = made.body.data;
    const move = { newStart: at('12:00') };
    const moved = (await mine.request('PATCH', `bookings/${id}/reschedule`, move)).body.data;
    const [delivery] = (await mine.at(`/v1/webhooks/${hook.id}/deliveries`)).deliveries;
    const { requestBody } = await mine.at(`/v1/webhooks/${hook.id}/deliveries/${delivery.id}`);
    const listed = (await mine.get('bookings')).bookings[0];
    const shown = [
      made.body.data,
      again.body.data,
      moved,
      await mine.get(`bookings/${id}`),
      listed,
      JSON.parse(requestBody).data,
    ];
    for (const { responses, metadata } of shown) {
      expect(JSON.stringify(responses)).toBe('{"Zoo":"x","A":"y"}');
      expect(JSON.stringify(metadata)).toBe('{"2":"two","10":true,"zulu":1,"a":[{"y":1,"bb":2}],"mm":null}');
    }
  });

  test('of 200 requests for one time is made once, and the others get that it is taken', async () => {
    // On a busy machine some wait too long for a connection to the database, and it is begun again.
    const { eventType, answers } = await until('all are answered', async () => {
      const eventType = await scene.offer();
      const asked = Array.from({ length: 200 }, () => scene.book(eventType.id, at('09:00')));
      const all = await Promise.all(asked);
      if (all.some(({ status }) => status === 503)) return;
      return { eventType, answers: all.map((answer) => JSON.stringify(outcomeOf(answer))) };
    });
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
    const { organizationId } = product.tenant;
    const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' } as const;
    const attendee = { ...scene.attendee, phone: null, timezone: 'UTC' };
    // Another process has locks of its own.
    const elsewhere = (eventTypeId: string, start: string) =>
      createBooking(
        {
          bookingQueues: new BookingQueues(),
          effectTimeScale: 1,
          bookingPages: new BookingPages(undefined, 'http://localhost'),
        },
        new Scope(product.database, tenant, 'elsewhere'),
        { eventTypeId, start, attendee, responses: {}, metadata: {}, location: undefined },
      ).then(
        () => 'booked',
        ({ code }: AppError) => code,
      );
    const here = async (eventTypeId: string, start: string) =>
      outcomeOf(await scene.book(eventTypeId, start)).code ?? 'booked';
    const starts = ['09:00', '09:30', '10:00', '10:30', '11:00'].map((time) => at(time));
    // Begun again where some wait too long for a connection to the database.
    const { eventType, outcomes } = await until('all are answered', async () => {
      const eventType = await scene.offer({ bufferBefore: 10 });
      const outcomes = await Promise.all(
        Array.from({ length: 40 }, (_, n) => (n % 2 ? here : elsewhere)(eventType.id, starts[n % starts.length]!)),
      );
      return !outcomes.includes('service_unavailable') && { eventType, outcomes };
    });
    const { bookings } = await scene.get(`bookings?eventTypeId=${eventType.id}`);
    expect(outcomes.filter((one) => one === 'booked')).toHaveLength(bookings.length);
    expect(new Set(outcomes)).toEqual(new Set(['booked', 'slot_unavailable', ...outcomes.filter(isBuffer)]));
    const holds = bookings.map(({ start, end }: { start: string; end: string }) => [
      Date.parse(start) - 600_000,
      Date.parse(end),
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
    expect(new Set(answers.map((one) => outcomeOf(one).code))).toEqual(new Set([undefined, 'slot_unavailable']));
    const isMoved = answers.at(-1)!.status === 200;
    const now = await scene.get(`bookings/${first.id}`);
    if (!isMoved) expect(now).toMatchObject(stillAs(first));
    expect((await scene.get(`bookings?eventTypeId=${eventType.id}`)).pagination.total).toBe(isMoved ? 1 : 2);
  });

  test('is made once per Idempotency-Key, which no refusal uses up', async () => {
    const eventType = await scene.offer();
    const key = (name: string) => ({ 'idempotency-key': `booking ${name}` });
    const first = await scene.book(eventType.id, at('09:00'), {}, key('one'));
    const again = await scene.book(eventType.id, at('09:00'), {}, key('one'));
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(outcomeOf(await scene.book(eventType.id, at('11:00'), {}, key('one')))).toMatchObject({
      code: 'idempotency_key_reused',
    });
    const refused = () => scene.book(eventType.id, at('09:30'), {}, key('two'));
    expect(outcomeOf(await refused())).toMatchObject({ status: 409, code: 'slot_unavailable' });
    await scene.request('DELETE', `bookings/${first.body.data.id}`);
    expect((await refused()).status).toBe(201);
  });

  test('is made or refused by itself when many are asked for at once', async () => {
    const own = await newScene();
    const [eventType, limited] = [await own.offer(), await own.offer({ duration: 15 })];
    await own.put('rate-limits', { dailyMax: 3 });
    const hour = (n: number) => at(`${String(n).padStart(2, '0')}:00`);
    const key = (name: string) => ({ 'idempotency-key': name });
    const unstorable = { metadata: { note: '\u0000' } };
    // Before the others: which of those that come at once is first is not said.
    expect((await own.book(eventType.id, at('12:00'))).status).toBe(201);
    const answers = await Promise.all([
      own.book(eventType.id, at('01:00'), {}, key('same')),
      own.book(eventType.id, at('01:00'), {}, key('same')),
      own.book(eventType.id, at('02:00'), unstorable, key('unstorable')),
      own.book(eventTypeIds.format(newId()), at('03:00'), {}, key('unknown')),
      own.book(eventType.id, at('12:00'), {}, key('taken')),
      ...[4, 5, 6, 7, 8, 9].map((n) => own.book(limited.id, hour(n), {}, key(`limited ${n}`))),
    ]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.slice(0, 5)).toEqual([201, 201, 400, 404, 409]);
    expect(statuses.slice(5).toSorted()).toEqual([201, 201, 201, 409, 409, 409]);
    expect(answers.map(({ headers }) => headers.get('idempotent-replayed')).filter(Boolean)).toEqual(['true']);
    expect(answers[0]!.body.data).toEqual(answers[1]!.body.data);
    expect((await own.get(`bookings?limit=100`)).pagination.total).toBe(5);
    // No refusal used a key up.
    const again = await own.book(eventType.id, at('02:00'), {}, key('unstorable'));
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
  });
});
