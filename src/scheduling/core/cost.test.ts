import { describe, expect, jest, test } from '@jest/globals';
import { IANAZone } from 'luxon';
import { asReadForBooking, booked, everyDay, given, moment, query } from '../../../test/scheduling/given.ts';
import { dayMs, dayNumber, minuteMs, writeDay } from './calendar-date.ts';
import { Decider, decideBooking } from './decide.ts';
import { occurrenceDays, writeOccurrences } from './occurrences.ts';
import { patternDays } from './patterns.ts';
import { readsForSlots } from './reads.ts';
import { patternKinds, type RecurringPattern } from './rules.ts';
import { listSlots } from './slots.ts';

/** How often the time zone database was asked. */
function counted(work: () => void): number {
  const spy = jest.spyOn(IANAZone.prototype, 'offset');
  work();
  const calls = spy.mock.calls.length;
  spy.mockRestore();
  return calls;
}

const first = dayNumber('2040-01-01');
const days = query('2040-02-01', '2040-05-02', 'Australia/Lord_Howe');
const pattern = (rest: Partial<RecurringPattern>): RecurringPattern => ({
  pattern: 'DAILY',
  interval: 1,
  daysOfWeek: null,
  timeStart: '12:00',
  timeEnd: '12:01',
  startDate: '1970-01-01',
  endDate: null,
  blockType: 'unavailable',
  ...rest,
});

describe('what a tenant sets and asks', () => {
  const exceptions = Array.from({ length: 500 }, (_, index) => ({
    date: writeDay(first + index),
    hours: ['00:00-24:00'],
  }));
  const blackouts = Array.from({ length: 500 }, (_, index) => ({
    start: writeDay(first - 20_000 + index),
    end: writeDay(first - 20_000 + 365 + index),
    allDay: true,
    recurring: false,
  }));
  const patterns = patternKinds.map((kind) => pattern({ pattern: kind }));
  const facts = given({
    rules: {
      timezone: 'America/New_York',
      blackouts,
      patterns,
      businessHours: { timezone: 'Europe/Berlin', default: everyDay('00:00-24:00'), exceptions, holidays: [] },
    },
    eventType: { duration: 1 },
  });

  test('asks the time zone database a bounded number of times, and not again for the same days', () => {
    // Three zones, each a look every four days, and a search for each change of clocks.
    expect(counted(() => listSlots(facts, days))).toBeLessThan(400);
    expect(counted(() => listSlots(facts, days))).toBe(0);
  });

  test('makes no more slots than minutes, and keeps only what lies in the days asked for', () => {
    // All the patterns close the same minute of a day, and on April 1 half an hour comes twice on Lord Howe.
    expect(listSlots(facts, days).length).toBe(92 * 24 * 60 + 30 - 92);
    const window = { startsAt: moment('2040-02-01T00:00Z'), endsAt: moment('2040-02-03T00:00Z') };
    const { openings } = new Decider(facts, window);
    expect([openings.hours.length, openings.open.length, openings.blackouts.length]).toEqual([1, 3, 0]);
  });

  test('looks at no day of a pattern before those asked for, whenever it began', () => {
    for (const kind of patternKinds) {
      const one = pattern({ pattern: kind, interval: 366, daysOfWeek: [0, 1, 2, 3, 4, 5, 6] });
      const days = patternDays(one, dayNumber('9990-01-01'));
      expect([...days].length).toBeLessThan(100);
    }
    const centuries = pattern({ pattern: 'YEARLY', interval: 366, timeStart: '02:30', timeEnd: '03:00' });
    const rules = { timezone: 'Africa/Casablanca', businessHours: facts.rules.businessHours, blackouts };
    const dates = occurrenceDays(centuries, 366, first - 25_000);
    const calls = counted(() =>
      expect(writeOccurrences(rules, centuries, dates, new Set())).toHaveLength(dates.length),
    );
    expect(calls).toBeLessThan(150 * dates.length);
    expect(dates.length).toBe(21);
  });

  test('reads bookings of the days asked for and their months, however many are kept', () => {
    const limits = { dailyMax: 1, weeklyMax: 2, monthlyMax: 3, consecutiveMax: 4, minGapMinutes: 1440 };
    const { rules, eventType } = given({
      limits,
      eventType: { duration: 1440, bufferBefore: 1440, bufferAfter: 1440 },
    });
    const reads = readsForSlots(rules, eventType, days, 0);
    const length = ({ startsAt, endsAt }: { startsAt: number; endsAt: number }) => (endsAt - startsAt) / dayMs;
    expect(length(reads.bookings)).toBeLessThan(92 + 5);
    expect(length(reads.counted!)).toBeLessThan(92 + 2 * 31);
    expect(reads.neighbours).toBe(4);
  });
});

test('a booking among all that can be kept is decided by its neighbours', () => {
  const start = moment('2040-02-01T00:00Z');
  const all = Array.from({ length: 20_000 }, (_, index) => booked(start + index * 10 * minuteMs, 5));
  const facts = given({
    limits: { consecutiveMax: 3, minGapMinutes: 5, dailyMax: 1_000 },
    eventType: { duration: 5 },
    occupied: { bookings: all, counted: all.map(({ startsAt }) => ({ at: startsAt, count: 1 })) },
  });
  const at = start + 5 * dayMs + 5 * minuteMs;
  const few = asReadForBooking(facts, at);
  expect(few.occupied.bookings.length).toBeLessThan(10);
  expect(few.occupied.counted).toEqual([{ at: start + 5 * dayMs, count: 144 }]);
  const refusal = decideBooking(few, at);
  expect(refusal).toEqual(decideBooking(facts, at));
  expect(refusal).toMatchObject({ limit: 'minGapMinutes', current: 0 });
});
