import { Blackouts } from './blackouts.ts';
import { type DayNumber, dayMs, weekdayOf, writeDay } from './calendar-date.ts';
import { patternDays, patternTimes } from './patterns.ts';
import type { DayRange } from './read-times.ts';
import type { CalendarRules, RecurringPattern } from './rules.ts';
import { TimeWriter } from './write-times.ts';
import { ZoneClock } from './zone-clock.ts';

/** Maximum per answer. */
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
 * Occurrences of a pattern on these days (`occurrenceDays`), one by one, so that other work can run in between.
 * @param holidays of these days
 */
export function* walkOccurrences(
  rules: Pick<CalendarRules, 'timezone' | 'businessHours' | 'blackouts'>,
  pattern: RecurringPattern,
  days: readonly DayNumber[],
  holidays: ReadonlySet<DayNumber>,
): Generator<Occurrence> {
  const exceptions = new Set(rules.businessHours?.exceptions.map(({ date }) => date));
  const blackouts = new Blackouts(rules.blackouts, rules.timezone);
  for (const day of days) {
    const around = { startsAt: (day - 2) * dayMs, endsAt: (day + 3) * dayMs };
    const clock = new ZoneClock(rules.timezone, around);
    const times = patternTimes(pattern, day, clock);
    const { startsAt, endsAt } = times;
    const writer = new TimeWriter(rules.timezone, around);
    const date = writeDay(day);
    const isBlackedOut = () => blackouts.within(times, clock).overlapsUntil(startsAt, endsAt) !== undefined;
    yield {
      date,
      dayOfWeek: weekdayOf(day),
      start: writer.write(startsAt),
      end: writer.write(endsAt),
      isException: holidays.has(day) || exceptions.has(date) || isBlackedOut(),
    };
  }
}

/** All of `walkOccurrences` at once. */
export const writeOccurrences = (...asked: Parameters<typeof walkOccurrences>): Occurrence[] => [
  ...walkOccurrences(...asked),
];
