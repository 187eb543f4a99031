import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seed } from '../../../test/fuzz/seed.ts';
import { asReadForBooking, booked, bookings, given, moment } from '../../../test/scheduling/given.ts';
import { Oracle } from '../../../test/scheduling/slot-oracle.ts';
import { dayNumber, minuteMs } from './calendar-date.ts';
import { decideBooking } from './decide.ts';
import { findLimitProblems, remainingBookings } from './limits.ts';
import { readsForBooking, readsForCheck } from './reads.ts';
import { type BookingLimits, noLimits } from './rules.ts';

const day = '2040-06-13';
const remaining = (limits: Partial<BookingLimits>, occupied: Parameters<typeof bookings>, timezone = 'UTC') => {
  const facts = given({ limits, rules: { timezone }, occupied: bookings(...occupied) });
  const { rules } = given({ limits });
  return remainingBookings({ ...rules, timezone }, dayNumber(day), facts.occupied);
};
const at = (clock: string, minutes = 60) => booked(`${day}T${clock}Z`, minutes);

describe('what is left', () => {
  test('is unknown without limits', () => {
    const nothing = { daily: null, weekly: null, monthly: null, consecutive: null };
    expect(remaining({}, [at('10:00')])).toEqual({ allowed: true, remaining: nothing });
  });

  test('of a day, a week and a month is counted by the host’s calendar', () => {
    const list = [at('10:00'), booked('2040-06-12T10:00Z', 60), booked('2040-06-01T10:00Z', 60), at('23:30')];
    const limits = { dailyMax: 2, weeklyMax: 5, monthlyMax: 5 };
    expect(remaining(limits, list)).toEqual({
      allowed: false,
      remaining: { daily: 0, weekly: 2, monthly: 1, consecutive: null },
    });
    // In Berlin, half past eleven in the evening is the next day.
    expect(remaining(limits, list, 'Europe/Berlin').remaining.daily).toBe(1);
  });

  test('of a run is what its longest of the day leaves, and does not decide', () => {
    const list = [booked('2040-06-12T23:00Z', 60), at('00:00'), at('01:00'), at('05:00')];
    expect(remaining({ consecutiveMax: 5 }, list).remaining.consecutive).toBe(2);
    expect(remaining({ consecutiveMax: 2 }, list)).toMatchObject({ allowed: true, remaining: { consecutive: 0 } });
    expect(remaining({ consecutiveMax: 5 }, []).remaining.consecutive).toBe(5);
  });
});

test.each<[Partial<BookingLimits>, string[]]>([
  [{ dailyMax: 9, monthlyMax: 5 }, ['monthlyMax']],
  [{ dailyMax: 3, monthlyMax: 5 }, []],
  [{ dailyMax: 1, weeklyMax: 1, monthlyMax: 1 }, []],
  [{ dailyMax: 3, weeklyMax: 2, monthlyMax: 1 }, ['weeklyMax', 'monthlyMax']],
  [{}, []],
])('problems of %j', (limits, paths) => {
  expect(findLimitProblems({ ...noLimits, ...limits }).map(({ path }) => path)).toEqual(paths);
});

describe('what is read', () => {
  const iso = (one: { startsAt: number; endsAt: number } | null) =>
    one && [one.startsAt, one.endsAt].map((moment) => new Date(moment).toISOString().slice(0, 16)).join(' ');

  test('for a booking is what lies around it, and the periods that count', () => {
    const { rules, eventType } = given({
      rules: { timezone: 'Europe/Berlin' },
      limits: { weeklyMax: 5, minGapMinutes: 45, consecutiveMax: 3 },
      eventType: { bufferBefore: 60, bufferAfter: 30 },
    });
    const berlin = { ...rules, limits: { ...noLimits, weeklyMax: 5, minGapMinutes: 45, consecutiveMax: 3 } };
    const reads = readsForBooking(berlin, eventType, moment(`${day}T10:00Z`));
    expect(iso(reads.bookings)).toBe(`${day}T09:00 ${day}T11:45`);
    expect(iso(reads.busy)).toBe(`${day}T09:00 ${day}T11:30`);
    expect(reads.neighbours).toBe(3);
    expect(iso(reads.counted)).toBe('2040-06-10T22:00 2040-06-17T22:00');
  });

  test('without limits is no more than the time itself', () => {
    const { rules, eventType } = given({});
    const reads = readsForBooking(rules, eventType, moment(`${day}T10:00Z`));
    expect([iso(reads.bookings), reads.neighbours, reads.counted]).toEqual([`${day}T10:00 ${day}T11:00`, 0, null]);
    expect(readsForCheck(rules, dayNumber(day))).toMatchObject({ neighbours: 0, counted: null });
  });
});

test('in a row of many bookings, what is read suffices and the oracle agrees', () => {
  const minutes = fc.constantFrom(0, 0, 0, 5, 10, 15, 60, 300);
  const limit = (max: number) => fc.option(fc.integer({ min: 1, max }), { freq: 3 });
  const any = fc.record({
    row: fc.array(fc.record({ pause: minutes, length: fc.constantFrom(5, 30, 60), before: minutes, after: minutes }), {
      maxLength: 40,
    }),
    at: fc.integer({ min: 0, max: 600 }),
    eventType: fc.record({ duration: fc.constantFrom(5, 15, 60), bufferBefore: minutes, bufferAfter: minutes }),
    limits: fc.record({
      consecutiveMax: limit(6),
      dailyMax: limit(12),
      weeklyMax: limit(20),
      monthlyMax: limit(30),
      minGapMinutes: fc.constantFrom(null, 0, 5, 15, 60),
    }),
  });
  const tally = new Set<string>();
  const holds = fc.property(any, ({ row, at: place, eventType, limits }) => {
    let from = moment('2040-06-28T00:00Z');
    const list = row.map(({ pause, length, before, after }) => {
      const one = booked(from + (pause + before) * minuteMs, length, before, after);
      from = one.holdEndsAt;
      return one;
    });
    const facts = given({ limits, eventType, occupied: bookings(...list) });
    const start = moment('2040-06-28T00:00Z') + place * 5 * minuteMs;
    const refusal = decideBooking(asReadForBooking(facts, start), start);
    const seen =
      refusal?.code === 'booking_limit_reached'
        ? `${refusal.code} ${refusal.limit}`
        : refusal && `${refusal.code} ${refusal.reason}`;
    expect(seen).toBe(new Oracle(facts).refuse(start));
    tally.add(seen ?? 'bookable');
  });
  fc.assert(holds, { seed, numRuns: 1_000 });
  const limitRefusals = Object.keys(noLimits).map((name) => `booking_limit_reached ${name}`);
  expect([...tally]).toEqual(
    expect.arrayContaining(['bookable', 'buffer_conflict buffer', 'slot_unavailable booked', ...limitRefusals]),
  );
});
