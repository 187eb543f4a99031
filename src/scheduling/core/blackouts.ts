import { clampedDayOf, type DateParts, dayMs, minuteMs, partsOf, readDay } from './calendar-date.ts';
import { type Interval, Spans } from './intervals.ts';
import { type Problem, readInstant } from './read-times.ts';
import type { BlackoutPeriod } from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

const maxBlackoutDays = 366;

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

/** A time on the wall, to be found again in other years. */
class Anniversary {
  readonly #date: DateParts;
  readonly #time: number;

  constructor(wall: number) {
    const day = Math.floor(wall / dayMs);
    this.#date = partsOf(day);
    this.#time = wall - day * dayMs;
  }

  get year(): number {
    return this.#date.year;
  }

  /** The same date and time so many years later; February 29 becomes the 28th where there is none. */
  later(years: number): number {
    return clampedDayOf({ ...this.#date, year: this.#date.year + years }) * dayMs + this.#time;
  }
}

interface Times {
  recurring: boolean;
  /** The ends, if they are given as instants: in their own year they count, and not the local times. */
  moment?: Interval;
  /** The local times of the host at both ends. */
  wall: Interval;
  begins: Anniversary;
  /** For whole days this is the last day: the day moves, and not the midnight after it. */
  ends: Anniversary;
  afterEnds: number;
}

function timesOf({ start, end, allDay, recurring }: BlackoutPeriod, timezone: string): Times {
  const read = allDay ? readDay : readInstant;
  const [from, to] = [read(start), read(end)];
  if (from === undefined || to === undefined) throw new RangeError(`Not a blackout: ${start} to ${end}`);
  if (allDay) {
    const wall = { startsAt: from * dayMs, endsAt: (to + 1) * dayMs };
    const [begins, ends] = [new Anniversary(wall.startsAt), new Anniversary(to * dayMs)];
    return { recurring, wall, begins, ends, afterEnds: dayMs };
  }
  const moment = { startsAt: from, endsAt: to };
  const clock = new ZoneClock(timezone, moment);
  // The end is a minute after the last minute that is blacked out, also where clocks change at that end.
  const [first, last] = [clock.wallAt(from), clock.wallAt(to - minuteMs) + minuteMs];
  // Across an hour that comes twice, the clocks may show less at the end than at the start; then the length counts.
  const wall = { startsAt: first, endsAt: last > first ? last : first + (to - from) };
  const [begins, ends] = [new Anniversary(wall.startsAt), new Anniversary(wall.endsAt)];
  return { recurring, moment, wall, begins, ends, afterEnds: 0 };
}

const yearAt = (at: number) => new Date(at).getUTCFullYear();

/** The blackouts of an organization, at the clock of a host. */
export class Blackouts {
  readonly #all: readonly Times[];

  constructor(blackouts: readonly BlackoutPeriod[], timezone: string) {
    this.#all = blackouts.map((blackout) => timesOf(blackout, timezone));
  }

  /**
   * When blackouts hold, as far as a window reaches.
   * @param clock the host's, for the window
   */
  within({ startsAt, endsAt }: Interval, clock: ZoneClock): Spans {
    // No clock is further from UTC than a day.
    const [from, to] = [startsAt - dayMs, endsAt + dayMs];
    const isNear = (one: Interval) => one.endsAt > from && one.startsAt < to;
    const [firstYear, lastYear] = [yearAt(from), yearAt(to)];
    const moments: Interval[] = [];
    const walls: Interval[] = [];
    for (const { recurring, moment, wall, begins, ends, afterEnds } of this.#all) {
      if (moment && isNear(moment)) moments.push(moment);
      if (!moment && isNear(wall)) walls.push(wall);
      if (!recurring) continue;
      // No blackout is longer than a year, so one that reaches into the window begins in its years or in the year
      // before.
      for (let years = Math.max(1, firstYear - 1 - begins.year); years <= lastYear - begins.year; years++) {
        const first = begins.later(years);
        const last = ends.later(years) + afterEnds;
        // An end on a day that is moved may precede the start; then the length counts.
        const one = { startsAt: first, endsAt: last > first ? last : first + (wall.endsAt - wall.startsAt) };
        if (isNear(one)) walls.push(one);
      }
    }
    return clock.showing(Spans.of(walls)).union(Spans.of(moments));
  }
}
