import { type DayNumber, dayMs, hourMs, minuteMs, readDay } from './calendar-date.ts';
import { type DayHours, type WeeklyHours, weekdays } from './rules.ts';

/** Dotted, as in `weeklyHours.monday.0`. */
export interface Problem {
  path: string;
  message: string;
}

/** Days that GET /availability may span, both ends counted. */
const maxSpanDays = 92;
const endOfDay = 24 * 60;

/** Minutes since midnight, the end not included. */
export interface MinuteRange {
  from: number;
  to: number;
}

/** Minutes since midnight of HH:MM, 00:00 to 24:00; otherwise undefined. */
function readMinutes(text: string): number | undefined {
  const found = /^(\d{2}):([0-5]\d)$/.exec(text);
  if (!found) return undefined;
  const minutes = Number(found[1]) * 60 + Number(found[2]);
  return minutes <= endOfDay ? minutes : undefined;
}

/** A start and an end later on the same day. 23:59 as an end means 24:00. Undefined where it is none. */
export function readMinuteRange(start: string, end: string): MinuteRange | undefined {
  const from = readMinutes(start);
  const to = readMinutes(end);
  if (from === undefined || to === undefined || to <= from) return undefined;
  return { from, to: to === endOfDay - 1 ? endOfDay : to };
}

/** `HH:MM-HH:MM` */
export function readHours(range: string): MinuteRange | undefined {
  return range.length === 11 && range[5] === '-' ? readMinuteRange(range.slice(0, 5), range.slice(6)) : undefined;
}

export function findHoursProblems(hours: DayHours, path: string): Problem[] {
  return (hours ?? []).flatMap((range, index) =>
    readHours(range)
      ? []
      : [{ path: `${path}.${index}`, message: 'Expected HH:MM-HH:MM, 00:00 to 24:00, ending later than it starts.' }],
  );
}

/** Weekdays that do not exist, and ranges that are none. */
export function findWeekProblems(week: WeeklyHours, path: string): Problem[] {
  return Object.entries(week).flatMap(([day, hours]) =>
    (weekdays as readonly string[]).includes(day)
      ? findHoursProblems(hours, `${path}.${day}`)
      : [{ path: `${path}.${day}`, message: 'Expected monday to sunday, in lower case.' }],
  );
}

/**
 * The moment of an RFC 3339 date-time with Z or an offset, on a whole minute, from 1970 until `endOfTime`; otherwise
 * undefined.
 */
export function readInstant(text: string): number | undefined {
  const found = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2})(?::00(?:\.0+)?)?(?:[Zz]|([+-])(\d{2}):([0-5]\d))$/.exec(text);
  const day = found && readDay(found[1]!);
  const minutes = found && readMinutes(found[2]!);
  if (!found || day === undefined || day === null || minutes === undefined || minutes === null) return undefined;
  const offsetHours = Number(found[4] ?? 0);
  if (minutes === endOfDay || offsetHours > 23) return undefined;
  const offset = (found[3] === '-' ? -1 : 1) * (offsetHours * hourMs + Number(found[5] ?? 0) * minuteMs);
  const at = day * dayMs + minutes * minuteMs - offset;
  return at >= 0 && at < endOfTime ? at : undefined;
}

/** No slot and no booking reaches beyond: in every zone, its date is still one of the year 9999. */
export const endOfTime = Date.UTC(9999, 11, 31);

/** The requested days, both included. */
export interface DayRange {
  from: DayNumber;
  to: DayNumber;
}

/** The days of `start` and `end`, both included, or their problem. */
export function readDayRange(start: string, end: string): { range: DayRange } | { problems: Problem[] } {
  const from = readDay(start);
  const to = readDay(end);
  const expected = (path: string) => ({ path, message: 'Expected a date YYYY-MM-DD in the years 1970 to 9999.' });
  if (from === undefined || to === undefined) {
    return {
      problems: [...(from === undefined ? [expected('start')] : []), ...(to === undefined ? [expected('end')] : [])],
    };
  }
  if (from > to) return { problems: [{ path: 'end', message: 'Expected a date that is not before start.' }] };
  if (to - from >= maxSpanDays) {
    return { problems: [{ path: 'end', message: `Expected at most ${maxSpanDays} days, both ends counted.` }] };
  }
  return { range: { from, to } };
}
