import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seed } from '../../../test/fuzz/seed.ts';
import { given } from '../../../test/scheduling/given.ts';
import { fallsOn } from '../../../test/scheduling/slot-oracle.ts';
import { dayNumber, writeDay } from './calendar-date.ts';
import { occurrenceDays, writeOccurrences } from './occurrences.ts';
import { findPatternProblems, patternDays } from './patterns.ts';
import { type PatternKind, patternKinds, type RecurringPattern } from './rules.ts';

const pattern = (kind: PatternKind, startDate: string, rest: Partial<RecurringPattern> = {}): RecurringPattern => ({
  pattern: kind,
  interval: 1,
  daysOfWeek: null,
  timeStart: '09:00',
  timeEnd: '10:00',
  startDate,
  endDate: null,
  blockType: 'unavailable',
  ...rest,
});
const dates = (one: RecurringPattern, count: number, from = one.startDate) =>
  occurrenceDays(one, count, dayNumber(from)).map(writeDay);

describe('the days of a pattern', () => {
  test.each<[string, RecurringPattern, string[]]>([
    ['every day', pattern('DAILY', '2026-02-27'), ['2026-02-27', '2026-02-28', '2026-03-01']],
    ['every third day', pattern('DAILY', '2026-02-27', { interval: 3 }), ['2026-02-27', '2026-03-02', '2026-03-05']],
    ['the weekday of the start', pattern('WEEKLY', '2026-03-04'), ['2026-03-04', '2026-03-11']],
    [
      'the first weekday after the start',
      pattern('WEEKLY', '2026-03-04', { daysOfWeek: [1] }),
      ['2026-03-09', '2026-03-16'],
    ],
    [
      'weeks that begin on Monday',
      pattern('BI_WEEKLY', '2026-03-02', { daysOfWeek: [1, 0] }),
      ['2026-03-02', '2026-03-08', '2026-03-16', '2026-03-22', '2026-03-30', '2026-04-05'],
    ],
    ['every fourth week', pattern('BI_WEEKLY', '2026-03-02', { interval: 2 }), ['2026-03-02', '2026-03-30']],
    [
      'the end of shorter months',
      pattern('MONTHLY', '2026-01-31'),
      ['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31'],
    ],
    ['the second Tuesday', pattern('MONTHLY_NTH', '2026-01-13'), ['2026-01-13', '2026-02-10', '2026-03-10']],
    ['the last Friday', pattern('MONTHLY_NTH', '2026-01-30'), ['2026-01-30', '2026-02-27', '2026-03-27']],
    ['another weekday', pattern('MONTHLY_NTH', '2026-01-13', { daysOfWeek: [1] }), ['2026-02-09', '2026-03-09']],
    [
      'quarters',
      pattern('QUARTERLY', '2026-01-31'),
      ['2026-01-31', '2026-04-30', '2026-07-31', '2026-10-31', '2027-01-31'],
    ],
    ['half-years', pattern('QUARTERLY', '2026-01-31', { interval: 2 }), ['2026-01-31', '2026-07-31']],
    [
      'years from a leap day',
      pattern('YEARLY', '2024-02-29'),
      ['2024-02-29', '2025-02-28', '2026-02-28', '2027-02-28', '2028-02-29'],
    ],
    ['the end is included', pattern('DAILY', '2026-01-01', { endDate: '2026-01-02' }), ['2026-01-01', '2026-01-02']],
    [
      'the year 9999 is the last',
      pattern('YEARLY', '9000-03-01', { interval: 366 }),
      ['9000-03-01', '9366-03-01', '9732-03-01'],
    ],
  ])('%s', (_, one, expected) => {
    const asked = one.endDate || one.startDate > '9' ? 10 : expected.length;
    expect(dates(one, asked)).toEqual(expected);
  });

  test('keep their phase wherever one begins to look', () => {
    const monthly = pattern('MONTHLY', '2026-01-31', { interval: 5 });
    expect(dates(monthly, 2, '2026-07-01')).toEqual(['2026-11-30', '2027-04-30']);
    expect(dates(pattern('DAILY', '1970-01-01', { interval: 7 }), 1, '2040-06-13')).toEqual(['2040-06-14']);
    expect(dates(monthly, 1, '2020-01-01')).toEqual(['2026-01-31']);
  });

  test('are those on which it falls, for every kind, interval and start', () => {
    const day = fc.integer({ min: dayNumber('2019-06-01'), max: dayNumber('2032-01-01') });
    const any = fc.record({
      kind: fc.constantFrom(...patternKinds),
      interval: fc.integer({ min: 1, max: 5 }),
      start: day,
      from: day,
      daysOfWeek: fc.option(fc.array(fc.integer({ min: 0, max: 6 }), { maxLength: 4 })),
      length: fc.option(fc.integer({ min: 0, max: 1500 })),
    });
    const holds = fc.property(any, ({ kind, interval, start, from, daysOfWeek, length }) => {
      const endDate = length === null ? null : writeDay(start + length);
      const one = pattern(kind, writeDay(start), { interval, daysOfWeek, endDate });
      const until = from + 800;
      const found: number[] = [];
      for (const found_ of patternDays(one, from)) {
        if (found_ > until) break;
        found.push(found_);
      }
      const expected = Array.from({ length: 801 }, (_, index) => from + index).filter((date) => fallsOn(one, date));
      expect(found).toEqual(expected);
    });
    fc.assert(holds, { seed, numRuns: 400 });
  });
});

describe('occurrences', () => {
  const write = (one: RecurringPattern, days: string[], rest: Parameters<typeof given>[0] = {}) => {
    const { rules, holidays } = given({ ...rest, rules: { timezone: 'America/New_York', ...rest.rules } });
    return writeOccurrences(rules, one, days.map(dayNumber), holidays);
  };

  test('have the host’s wall clock and its offset', () => {
    expect(write(pattern('DAILY', '2026-03-07'), ['2026-03-07', '2026-03-08'])).toEqual([
      {
        date: '2026-03-07',
        dayOfWeek: 6,
        isException: false,
        start: '2026-03-07T09:00:00.000-05:00',
        end: '2026-03-07T10:00:00.000-05:00',
      },
      {
        date: '2026-03-08',
        dayOfWeek: 0,
        isException: false,
        start: '2026-03-08T09:00:00.000-04:00',
        end: '2026-03-08T10:00:00.000-04:00',
      },
    ]);
  });

  test.each([
    ['2026-03-08', '02:30', '04:00', '03:30:00.000-04:00', '04:00:00.000-04:00'],
    ['2026-03-08', '02:30', '03:00', '03:30:00.000-04:00', '04:00:00.000-04:00'],
    ['2026-11-01', '01:30', '03:00', '01:30:00.000-04:00', '03:00:00.000-05:00'],
    ['2026-11-01', '01:00', '01:30', '01:00:00.000-04:00', '01:30:00.000-04:00'],
  ])('on %s, %s to %s', (date, timeStart, timeEnd, start, end) => {
    const [found] = write(pattern('DAILY', date, { timeStart, timeEnd }), [date]);
    expect(found).toMatchObject({ start: `${date}T${start}`, end: `${date}T${end}` });
  });

  test('are exceptions on holidays, on dates with an exception, and in blackouts', () => {
    const days = ['2026-06-01', '2026-06-02', '2026-06-03', '2026-06-04', '2026-06-05'];
    const found = write(pattern('DAILY', '2026-06-01'), days, {
      holidays: ['2026-06-01'],
      rules: {
        businessHours: {
          timezone: null,
          default: null,
          exceptions: [{ date: '2026-06-02', hours: ['08:00-20:00'] }],
          holidays: [],
        },
        blackouts: [
          { start: '2025-06-03', end: '2025-06-03', allDay: true, recurring: true },
          { start: '2026-06-04T13:59Z', end: '2026-06-04T15:00Z', allDay: false, recurring: false },
          { start: '2026-06-05T14:00Z', end: '2026-06-05T15:00Z', allDay: false, recurring: false },
        ],
      },
    });
    expect(found.map(({ isException }) => isException)).toEqual([true, true, true, true, false]);
  });
});

test.each([
  [{ timeStart: '10:00', timeEnd: '10:00' }, ['timeEnd']],
  [{ timeStart: '24:00', timeEnd: '24:00' }, ['timeStart']],
  [{ timeStart: '9:00' }, ['timeStart']],
  [{ timeEnd: '24:01' }, ['timeEnd']],
  [{ endDate: '2026-01-01' }, ['endDate']],
  [{ startDate: '2026-02-30', endDate: 'soon' }, ['startDate', 'endDate']],
  [{ daysOfWeek: [0, 7, 1.5] }, ['daysOfWeek.1', 'daysOfWeek.2']],
  [{ timeEnd: '24:00', endDate: '2026-02-02' }, []],
])('problems of %j', (rest, paths) => {
  expect(findPatternProblems(pattern('DAILY', '2026-02-02', rest)).map(({ path }) => path)).toEqual(paths);
});
