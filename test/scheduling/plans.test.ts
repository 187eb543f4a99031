import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { type Statement, statements } from '../../src/platform/database/sql.ts';
import type { Tenant } from '../../src/platform/tenant.ts';
import { readOccupied } from '../../src/scheduling/availability/occupied-times.ts';
import { dayNumber, minuteMs } from '../../src/scheduling/core/calendar-date.ts';
import { eventTypeIds } from '../../src/scheduling/core/ids.ts';
import { readsForBooking, readsForCheck, readsForSlots } from '../../src/scheduling/core/reads.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { sharedProduct } from '../product.ts';
import { booked, bookings, given, query, restrict } from './given.ts';
import { sceneOf } from './scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

test('what is read around a time does not grow with the bookings that are kept, nor with those of other hosts', async () => {
  const { pool } = product.database;
  const { id } = await sceneOf(product.api).offer();
  const [eventType] = (
    await pool.query('select id, host_id as "hostId" from scheduling_event_type where id = $1', [
      eventTypeIds.parse(id),
    ])
  ).rows;
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  await pool.query(
    `with other as (
       insert into scheduling_host (id, organization_id, environment, name, is_default, timezone, weekly_hours, created_at,
                                    updated_at)
       select uuidv7(), organization_id, environment, name, false, timezone, weekly_hours, now(), now()
         from scheduling_host cross join generate_series(1, 10) where id = $3
       returning id)
     insert into booking (id, organization_id, environment, event_type_id, host_id, status, start_at, end_at,
                          hold_start_at, hold_end_at, attendee_name, attendee_email, attendee_timezone, responses,
                          metadata, reschedule_count, correlation_id, created_at, updated_at)
     select uuidv7(), $1, 'test', $2, h.id, 'confirmed', t, t + interval '1 hour', t, t + interval '1 hour', 'x', 'y', 'UTC',
            '{}', '{}', 0, 'test', now(), now()
       from (select $3::uuid as id, '2050-01-01'::date as begins, '2050-07-01'::date as ends
             union all select id, '2050-02-20', '2050-03-10' from other) h
      cross join lateral generate_series(h.begins::timestamptz, h.ends, '1 hour') t`,
    [organizationId, eventType.id, eventType.hostId],
  );
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'test');
  /** Rows that PostgreSQL looks at and takes or leaves, without statistics of the table. */
  const looksAt = async (name: string, ...values: unknown[]) => {
    const of = statements.get(name)!;
    const text = `explain (analyze, timing off, format json) ${of.text}`;
    const explain = { ...of, name: `explain.${name}`, text } as unknown as Statement<
      { 'QUERY PLAN': [{ Plan: object }] },
      Tenant & { readonly values: unknown }
    >;
    const given = Object.keys(of.parameters).filter(
      (parameter) => !['organizationId', 'environment'].includes(parameter),
    );
    const named = Object.fromEntries(given.map((parameter, index) => [parameter, values[index]]));
    const explained = await scope.rows(explain, named as { values: unknown });
    const plan = JSON.stringify(explained[0]!['QUERY PLAN']);
    const numbers = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by \w+)":([\d.]+)/g)].map(([, number]) =>
      Number(number),
    );
    return Math.max(...numbers);
  };
  const [from, to] = [new Date('2050-03-01T00:00:00Z'), new Date('2050-03-02T00:00:00Z')];
  const [host, at] = [[eventType.hostId], [[from], [to]] as const];
  const merged = [[0], [0], null];
  expect(await looksAt('booking.occupied', host, ...at, [0], ...merged)).toBeLessThanOrEqual(4 * 24);
  expect(await looksAt('booking.occupied', host, ...at, [20], ...merged)).toBeLessThanOrEqual(4 * 24 + 2 * 20);
  expect(await looksAt('booking.counted', [eventType.id], [1], [2], [from, to], null)).toBeLessThanOrEqual(11 * 24);
});

test('bookings are read as blocks, with their runs, and counted where they are stored', async () => {
  const { pool } = product.database;
  const { id } = await sceneOf(product.api).offer({ name: 'Blocks' });
  const { rows } = await pool.query('select host_id as "hostId" from scheduling_event_type where id = $1', [
    eventTypeIds.parse(id),
  ]);
  const bookable = { hostId: rows[0].hostId, eventTypeId: eventTypeIds.parse(id)!, hasCalendars: false };
  const organizationId = organizationIds.parse(product.tenant.organizationId)!;
  // Gaps, lengths and buffers in all combinations, for five days.
  const first = Date.parse('2050-05-30T00:00:00Z');
  const list: ReturnType<typeof booked>[] = [];
  for (let [at, index] = [first, 0]; at < first + 5 * 1_440 * minuteMs; index++) {
    const pick = (...values: number[]) => values[index % values.length]!;
    const before = pick(0, 0, 10, 0, 5);
    const one = booked(at + (pick(0, 0, 5, 0, 30, 11) + before) * minuteMs, pick(5, 20, 45, 5), before, pick(0, 15));
    list.push(one);
    at = one.holdEndsAt;
  }
  const times = (name: 'startsAt' | 'endsAt' | 'holdStartsAt' | 'holdEndsAt') => list.map((one) => new Date(one[name]));
  await pool.query(
    `insert into booking (id, organization_id, environment, event_type_id, host_id, status, start_at, end_at,
                          hold_start_at, hold_end_at, attendee_name, attendee_email, attendee_timezone, responses,
                          metadata, reschedule_count, correlation_id, created_at, updated_at)
     select uuidv7(), $1, 'test', $2, $3, 'confirmed', s, e, hs, he, 'x', 'y', 'UTC', '{}', '{}', 0, 'test', now(), now()
       from unnest($4::timestamptz[], $5::timestamptz[], $6::timestamptz[], $7::timestamptz[]) b (s, e, hs, he)`,
    [
      organizationId,
      bookable.eventTypeId,
      bookable.hostId,
      ...(['startsAt', 'endsAt', 'holdStartsAt', 'holdEndsAt'] as const).map(times),
    ],
  );
  const scope = new Scope(product.database, { organizationId, environment: 'test' }, 'test');
  const sorted = (occupied: Awaited<ReturnType<typeof readOccupied>>) => ({
    ...occupied,
    bookings: occupied.bookings.toSorted((one, other) => one.startsAt - other.startsAt),
    counted: occupied.counted.toSorted((one, other) => one.at - other.at),
  });
  const limits = { dailyMax: 5, weeklyMax: 10, monthlyMax: 100, consecutiveMax: 7, minGapMinutes: 5 };
  for (const timezone of ['UTC', 'America/New_York']) {
    for (const duration of [1, 10, 40]) {
      const eventType = { duration, bufferBefore: 20, bufferAfter: 10 };
      for (const someLimits of [limits, { ...limits, minGapMinutes: 30 }, {}]) {
        const stored = bookings(...list);
        const facts = given({ rules: { timezone }, limits: someLimits, eventType, occupied: stored });
        const allReads = [
          readsForSlots(facts.rules, facts.eventType, query('2050-05-31', '2050-06-02', timezone), 0),
          readsForBooking(facts.rules, facts.eventType, first + 2_000 * minuteMs),
          readsForCheck(facts.rules, dayNumber('2050-06-01')),
        ];
        for (const reads of allReads) {
          expect(sorted(await readOccupied(scope, bookable, reads))).toEqual(restrict(facts.occupied, reads));
        }
      }
    }
  }
});
