import { clampedDayOf, type DayNumber, dayMs, minuteMs, partsOf, readDay } from './calendar-date.ts';
import { type Interval, Spans } from './intervals.ts';
import { type Problem, readInstant } from './read-times.ts';
import type { BlackoutPeriod } from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

export const maxBlackoutDays = 366;

export function findBlackoutProblems({
  start,
  end,
  allDay,
}: Pick<BlackoutPeriod, 'start' | 'end' | 'allDay'>): Problem[] {
  const read = allDay ? readDay : readInstant;
  const expected = allDay
    ? 'Expected a date YYYY-MM-DD in the years 1970 to 9999.'
    : 'Expected an RFC 3339 date-time with Z or an offset, on a whole minute.';
  const [from, to] = [read(start), read(end)];
  const problems = [
    ...(from === undefined ? [{ path: 'start', message: expected }] : []),
    ...(to === undefined ? [{ path: 'end', message: expected }] : []),
  ];
  if (from === undefined || to === undefined) return problems;
  if (allDay ? to < from : to <= from) return [{ path: 'end', message: 'Expected an end after start.' }];
  const days = allDay ? to - from + 1 : (to - from) / dayMs;
  return days > maxBlackoutDays ? [{ path: 'end', message: `Expected at most ${maxBlackoutDays} days.` }] : [];
}

/** A time on the wall in another year: the same date and time, with February 29 moved to the 28th where there is none. */
function yearsLater(wall: number, years: number): number {
  const day: DayNumber = Math.floor(wall / dayMs);
  const { year, month, day: dayOfMonth } = partsOf(day);
  return clampedDayOf({ year: year + years, month, day: dayOfMonth }) * dayMs + (wall - day * dayMs);
}

/**
 * When blackouts hold, as far as the window reaches.
 * @param clock the host's, for the window
 */
export function blackoutSpans(
  blackouts: readonly BlackoutPeriod[],
  { startsAt, endsAt }: Interval,
  timezone: string,
  clock: ZoneClock,
): Spans {
  const moments: Interval[] = [];
  const walls: Interval[] = [];
  const isNear = (one: Interval) => one.endsAt > startsAt - dayMs && one.startsAt < endsAt + dayMs;
  for (const blackout of blackouts) {
    const { moment, wall } = timesOf(blackout, timezone);
    if (moment && isNear(moment)) moments.push(moment);
    if (!blackout.recurring) {
      if (!moment && isNear(wall)) walls.push(wall);
      continue;
    }
    const begins = partsOf(Math.floor(wall.startsAt / dayMs)).year;
    // It may have begun in the year before the window.
    const first = Math.max(moment ? 1 : 0, partsOf(Math.floor(startsAt / dayMs)).year - begins - 2);
    const last = partsOf(Math.floor(endsAt / dayMs)).year - begins + 1;
    for (let years = first; years <= last; years++) {
      const from = yearsLater(wall.startsAt, years);
      // An end on a day that is moved may come to stand before the start, and then the length counts.
      const to = allDayEnd(blackout, wall, years);
      walls.push({ startsAt: from, endsAt: to > from ? to : from + (wall.endsAt - wall.startsAt) });
    }
  }
  return clock.showing(Spans.of(walls)).union(Spans.of(moments));
}

/** Of whole days the last one is moved, and not the midnight after it. */
function allDayEnd({ allDay }: BlackoutPeriod, wall: Interval, years: number): number {
  return allDay ? yearsLater(wall.endsAt - dayMs, years) + dayMs : yearsLater(wall.endsAt, years);
}

/** What the host's clocks show at both ends, and the ends themselves where they are given. */
function timesOf({ start, end, allDay }: BlackoutPeriod, timezone: string): { moment?: Interval; wall: Interval } {
  const read = allDay ? readDay : readInstant;
  const [from, to] = [read(start), read(end)];
  if (from === undefined || to === undefined) throw new RangeError(`Not a blackout: ${start} to ${end}`);
  if (allDay) return { wall: { startsAt: from * dayMs, endsAt: (to + 1) * dayMs } };
  const moment = { startsAt: from, endsAt: to };
  const clock = new ZoneClock(timezone, moment);
  // The end is a minute after the last minute that is blacked out, also where clocks change at that end.
  const [first, last] = [clock.wallAt(from), clock.wallAt(to - minuteMs) + minuteMs];
  // Across an hour that comes twice, the clocks may show less at the end than at the start; then the length counts.
  return { moment, wall: { startsAt: first, endsAt: last > first ? last : first + (to - from) } };
}
