import { describe, expect, test } from '@jest/globals';
import { booked, bookings, given, moment } from '../../../test/scheduling/given.ts';
import { dayNumber } from './calendar-date.ts';
import { findLimitProblems, remainingBookings } from './limits.ts';
import { readsForBooking, readsForCheck } from './reads.ts';
import { type BookingLimits, noLimits } from './rules.ts';

const day = '2040-06-13';
const remaining = (limits: Partial<BookingLimits>, taken: Parameters<typeof bookings>, timezone = 'UTC') => {
  const facts = given({ limits, rules: { timezone }, taken: bookings(...taken) });
  const { rules } = given({ limits });
  return remainingBookings({ ...rules, timezone }, dayNumber(day), facts.taken);
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
