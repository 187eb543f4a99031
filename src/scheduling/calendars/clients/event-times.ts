import { dayMs, readDay } from '../../core/calendar-date.ts';
import type { Interval } from '../../core/intervals.ts';
import { ZoneClock } from '../../core/zone-clock.ts';

/** An instant of RFC 3339, with fractions of a second as providers write them. */
const instantPattern = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

const interval = (startsAt: number, endsAt: number): Interval | null =>
  Number.isFinite(startsAt) && Number.isFinite(endsAt) && startsAt <= endsAt ? { startsAt, endsAt } : null;

/** @returns null for what is no time */
export function timeOfInstants(start: string, end: string): Interval | null {
  if (!instantPattern.test(start) || !instantPattern.test(end)) return null;
  return interval(Date.parse(start), Date.parse(end));
}

/**
 * Whole days of a zone.
 * @param start `YYYY-MM-DD`; what follows is ignored, as `end` it is the day after the last one
 * @returns null for what is no date
 */
export function timeOfDays(start: string, end: string, timezone: string): Interval | null {
  const [from, to] = [readDay(start.slice(0, 10)), readDay(end.slice(0, 10))];
  if (from === undefined || to === undefined || to < from) return null;
  // A day at least: some providers write the same date twice.
  const until = Math.max(to, from + 1);
  const startOf = (day: number) =>
    new ZoneClock(timezone, { startsAt: (day - 2) * dayMs, endsAt: (day + 2) * dayMs }).startOfDay(day);
  return interval(startOf(from), startOf(until));
}
