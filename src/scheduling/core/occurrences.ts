import { blackoutSpans } from './blackouts.ts';
import { type DayNumber, dayMs, weekdayOf, writeDay } from './calendar-date.ts';
import { patternDays, patternTimes } from './patterns.ts';
import type { DayRange } from './read-times.ts';
import type { CalendarRules, RecurringPattern } from './rules.ts';
import { TimeWriter } from './write-times.ts';
import { ZoneClock } from './zone-clock.ts';

export const maxOccurrences = 366;

/** As published. */
export interface Occurrence {
  /** YYYY-MM-DD, the host's. */
  date: string;
  /** 0 is Sunday. */
  dayOfWeek: number;
  /** RFC 3339 with the host's offset. */
  start: string;
  end: string;
  /** A holiday, an exception or a blackout is on that date or in that time. */
  isException: boolean;
}

/** The days of the next occurrences, for which holidays are needed. */
export function occurrenceDays(pattern: RecurringPattern, count: number, from: DayNumber): DayNumber[] {
  const days: DayNumber[] = [];
  if (count < 1) return days;
  for (const day of patternDays(pattern, from)) {
    days.push(day);
    if (days.length === count) break;
  }
  return days;
}

/** Each day by itself: they may be centuries apart. */
export const holidayDaysForOccurrences = (days: readonly DayNumber[]): DayRange[] =>
  days.map((day) => ({ from: day, to: day }));

/**
 * Occurrences of a pattern on these days (`occurrenceDays`).
 * @param holidays of these days
 */
export function writeOccurrences(
  rules: Pick<CalendarRules, 'timezone' | 'businessHours' | 'blackouts'>,
  pattern: RecurringPattern,
  days: readonly DayNumber[],
  holidays: ReadonlySet<DayNumber>,
): Occurrence[] {
  const exceptions = new Set(rules.businessHours?.exceptions.map(({ date }) => date));
  return days.map((day) => {
    const around = { startsAt: (day - 2) * dayMs, endsAt: (day + 3) * dayMs };
    const clock = new ZoneClock(rules.timezone, around);
    const { startsAt, endsAt } = patternTimes(pattern, day, clock);
    const writer = new TimeWriter(rules.timezone, around);
    const date = writeDay(day);
    const isBlackedOut = () =>
      blackoutSpans(rules.blackouts, around, rules.timezone, clock).overlapsUntil(startsAt, endsAt) !== undefined;
    return {
      date,
      dayOfWeek: weekdayOf(day),
      start: writer.write(startsAt),
      end: writer.write(endsAt),
      isException: holidays.has(day) || exceptions.has(date) || isBlackedOut(),
    };
  });
}
