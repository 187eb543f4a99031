import {
  clampedDayOf,
  type DayNumber,
  dayMs,
  dayNumber,
  dayOf,
  minuteMs,
  mondayOf,
  partsOf,
  readDay,
  weekdayOf,
} from './calendar-date.ts';
import type { Interval } from './intervals.ts';
import { type DayRange, endOfTime, type MinuteRange, type Problem, readMinuteRange } from './read-times.ts';
import type { RecurringPattern } from './rules.ts';
import type { ZoneClock } from './zone-clock.ts';

const lastDay: DayNumber = endOfTime / dayMs - 1;
const monthsIn = { MONTHLY: 1, MONTHLY_NTH: 1, QUARTERLY: 3, YEARLY: 12 } as const;

export function findPatternProblems(pattern: Omit<RecurringPattern, 'pattern' | 'interval' | 'blockType'>): Problem[] {
  const { timeStart, timeEnd, startDate, endDate, daysOfWeek } = pattern;
  const problems: Problem[] = [];
  const say = (path: string, message: string) => problems.push({ path, message });
  if (!readMinuteRange(timeStart, '24:00')) say('timeStart', 'Expected HH:MM, 00:00 to 23:59.');
  else if (!readMinuteRange('00:00', timeEnd)) say('timeEnd', 'Expected HH:MM, 00:01 to 24:00.');
  else if (!readMinuteRange(timeStart, timeEnd)) say('timeEnd', 'Expected a time after timeStart.');
  const aDate = 'Expected a date YYYY-MM-DD in the years 1970 to 9999.';
  if (readDay(startDate) === undefined) say('startDate', aDate);
  if (endDate !== null && readDay(endDate) === undefined) say('endDate', aDate);
  else if (endDate !== null && endDate < startDate) say('endDate', 'Expected a date that is not before startDate.');
  for (const [index, day] of (daysOfWeek ?? []).entries()) {
    if (!Number.isInteger(day) || day < 0 || day > 6) say(`daysOfWeek.${index}`, 'Expected 0 (Sunday) to 6.');
  }
  return problems;
}

/**
 * The days of a pattern in ascending order, from `from` on and not before its startDate, through its endDate. Which days
 * they are does not depend on `from`, and days before it cost nothing.
 */
export function* patternDays(pattern: RecurringPattern, from: DayNumber): Generator<DayNumber> {
  const start = dayNumber(pattern.startDate);
  const first = Math.max(from, start);
  const last = pattern.endDate === null ? lastDay : Math.min(dayNumber(pattern.endDate), lastDay);
  for (const day of candidates(pattern, start, first)) {
    if (day > last) return;
    if (day >= first) yield day;
  }
}

/** The same without an end, and with some days before the first. */
function candidates(pattern: RecurringPattern, start: DayNumber, first: DayNumber): Generator<DayNumber> {
  const { interval } = pattern;
  switch (pattern.pattern) {
    case 'DAILY':
      return everyDays(start, interval, first);
    case 'WEEKLY':
      return everyWeeks(pattern, start, interval, first);
    case 'BI_WEEKLY':
      return everyWeeks(pattern, start, 2 * interval, first);
    case 'MONTHLY_NTH':
      return everyMonths(start, interval, first, nthWeekday(pattern, start));
    default:
      return everyMonths(start, interval * monthsIn[pattern.pattern], first, (year, month) =>
        clampedDayOf({ year, month, day: partsOf(start).day }),
      );
  }
}

function* everyDays(start: DayNumber, interval: number, first: DayNumber): Generator<DayNumber> {
  for (let day = start + Math.floor((first - start) / interval) * interval; ; day += interval) yield day;
}

/** Weeks begin on Monday, and are counted from the one of the first day that matches on or after the start. */
function* everyWeeks({ daysOfWeek }: RecurringPattern, start: DayNumber, interval: number, first: DayNumber) {
  const days = daysOfWeek?.length ? daysOfWeek : [weekdayOf(start)];
  const offsets = [...new Set(days.map((day) => (day + 6) % 7))].sort((a, b) => a - b);
  const monday = mondayOf(start);
  const anchor = offsets.some((offset) => monday + offset >= start) ? monday : monday + 7;
  const skipped = Math.max(0, Math.floor((first - anchor) / 7 / interval));
  for (let week = anchor + skipped * interval * 7; ; week += interval * 7) {
    for (const offset of offsets) yield week + offset;
  }
}

function* everyMonths(
  start: DayNumber,
  interval: number,
  first: DayNumber,
  dayIn: (year: number, month: number) => DayNumber,
): Generator<DayNumber> {
  const index = (day: DayNumber) => partsOf(day).year * 12 + partsOf(day).month - 1;
  const skipped = Math.max(0, Math.floor((index(first) - index(start)) / interval));
  for (let at = index(start) + skipped * interval; ; at += interval) yield dayIn(Math.floor(at / 12), (at % 12) + 1);
}

/** The ordinal is that of the start in its month, where the fifth means the last; the weekday too, unless one is given. */
function nthWeekday({ daysOfWeek }: RecurringPattern, start: DayNumber) {
  const weekday = daysOfWeek?.[0] ?? weekdayOf(start);
  const nth = Math.ceil(partsOf(start).day / 7);
  return (year: number, month: number) => {
    if (nth === 5) {
      const end = clampedDayOf({ year, month, day: 31 });
      return end - ((weekdayOf(end) - weekday + 7) % 7);
    }
    const begin = dayOf({ year, month, day: 1 });
    return begin + ((weekday - weekdayOf(begin) + 7) % 7) + (nth - 1) * 7;
  };
}

function rangeOf({ timeStart, timeEnd }: RecurringPattern): MinuteRange {
  const range = readMinuteRange(timeStart, timeEnd);
  if (!range) throw new RangeError(`Not a range of times: ${timeStart}-${timeEnd}`);
  return range;
}

function timesOn(day: DayNumber, { from, to }: MinuteRange, clock: ZoneClock): Interval {
  const startsAt = clock.momentOf(day * dayMs + from * minuteMs);
  const endsAt = clock.momentOf(day * dayMs + to * minuteMs);
  return { startsAt, endsAt: endsAt > startsAt ? endsAt : startsAt + (to - from) * minuteMs };
}

/**
 * The time of a pattern on a day. A start or end that the clocks skip is moved forward by the gap; of two equal times
 * the earlier counts. If the gap would put the end before the start, the pattern keeps its length.
 */
export const patternTimes = (pattern: RecurringPattern, day: DayNumber, clock: ZoneClock): Interval =>
  timesOn(day, rangeOf(pattern), clock);

/** The times of a pattern on the days `from` to `to`, both included. */
export function* patternIntervals(
  pattern: RecurringPattern,
  { from, to }: DayRange,
  clock: ZoneClock,
): Generator<Interval> {
  const range = rangeOf(pattern);
  for (const day of patternDays(pattern, from)) {
    if (day > to) return;
    yield timesOn(day, range, clock);
  }
}
