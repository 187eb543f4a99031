import {
  type DayNumber,
  dayMs,
  dayOf,
  minuteMs,
  mondayOf,
  partsOf,
  writeDay,
  writeMonth,
  writeWeek,
} from './calendar-date.ts';
import type { Interval } from './intervals.ts';
import type { Booked, BookedBlock, CountedBookings, Occupied } from './occupied.ts';
import type { Problem } from './read-times.ts';
import type { LimitRefusal } from './refusals.ts';
import type { BookingLimits, CalendarRules } from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

/** The largest allowed consecutiveMax. It bounds how many bookings are read around the requested time. */
export const maxConsecutive = 1_000;

interface Period {
  limit: 'dailyMax' | 'weeklyMax' | 'monthlyMax';
  /** The first day of the period of a day, and of the period after it. */
  first(day: DayNumber): DayNumber;
  next(day: DayNumber): DayNumber;
  write(day: DayNumber): string;
}

const monthOf = (day: DayNumber, later = 0) => {
  const { year, month } = partsOf(day);
  return dayOf({ year, month: month + later, day: 1 });
};

/** In the order in which they are checked. */
const periods: readonly Period[] = [
  { limit: 'dailyMax', first: (day) => day, next: (day) => day + 1, write: writeDay },
  { limit: 'weeklyMax', first: mondayOf, next: (day) => mondayOf(day) + 7, write: writeWeek },
  { limit: 'monthlyMax', first: (day) => monthOf(day), next: (day) => monthOf(day, 1), write: writeMonth },
];

const setPeriods = (limits: BookingLimits) => periods.filter(({ limit }) => limits[limit] !== null);

/** A limit of a shorter period that is larger than that of a longer one could never be reached. */
export function findLimitProblems(limits: BookingLimits): Problem[] {
  const inOrder = setPeriods(limits);
  return inOrder.slice(1).flatMap(({ limit }, index) => {
    const shorter = inOrder[index]!.limit;
    return limits[shorter]! > limits[limit]!
      ? [{ path: limit, message: `Expected at least ${shorter}, which is ${limits[shorter]}.` }]
      : [];
  });
}

/** The time range in which the starts of bookings count for some days. */
export interface CountedTime extends Interval {
  /**
   * In order, from its start to its end. Bookings that start between two of them, the second one not included, count for the
   * same of these days, and of their weeks and months.
   */
  cuts: readonly number[];
}

/** The time range in which the starts of bookings count for these days of the host; null without such a limit. */
export function countedTime(
  { timezone, limits }: Pick<CalendarRules, 'timezone' | 'limits'>,
  { from, to }: { from: DayNumber; to: DayNumber },
): CountedTime | null {
  const days = new Set<DayNumber>();
  for (const period of setPeriods(limits)) {
    let day = period.first(from);
    for (; day <= to; day = period.next(day)) days.add(day);
    days.add(day);
  }
  if (days.size === 0) return null;
  const sorted = [...days].sort((a, b) => a - b);
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const clock = new ZoneClock(timezone, { startsAt: (first - 1) * dayMs, endsAt: (last + 1) * dayMs });
  const cuts = sorted.map((day) => clock.startOfDay(day));
  return { startsAt: cuts[0]!, endsAt: cuts.at(-1)!, cuts };
}

/** The bookings of each day, week and month of the host. */
class Counts {
  readonly #byPeriod = new Map<Period, Map<DayNumber, number>>();

  constructor(limits: BookingLimits, timezone: string, counted: readonly CountedBookings[], window: Interval | null) {
    if (!window) return;
    const clock = new ZoneClock(timezone, window);
    const byDay = new Map<DayNumber, number>();
    for (const { at, count } of counted) {
      if (at < window.startsAt || at >= window.endsAt) continue;
      const day = clock.dayAt(at);
      byDay.set(day, (byDay.get(day) ?? 0) + count);
    }
    for (const period of setPeriods(limits)) {
      const counts = new Map<DayNumber, number>();
      for (const [day, count] of byDay) {
        const first = period.first(day);
        counts.set(first, (counts.get(first) ?? 0) + count);
      }
      this.#byPeriod.set(period, counts);
    }
  }

  of(period: Period, day: DayNumber): number {
    return this.#byPeriod.get(period)?.get(period.first(day)) ?? 0;
  }
}

/** Bookings of a host by start, and the runs they form. */
class Runs {
  readonly #bookings: readonly BookedBlock[];
  /**
   * The number of bookings of the run that ends with, and of the one that begins with, the block at this position.
   */
  readonly #endingWith: number[] = [];
  readonly #beginningWith: number[] = [];
  readonly #minGapMs: number;

  constructor(bookings: readonly BookedBlock[], minGapMinutes: number | null) {
    this.#minGapMs = (minGapMinutes ?? 0) * minuteMs;
    this.#bookings = [...bookings].sort((a, b) => a.startsAt - b.startsAt);
    for (const [index, { lastRun, isOneRun }] of this.#bookings.entries()) {
      const before = isOneRun && this.#joins(index - 1, index) ? this.#endingWith[index - 1]! : 0;
      this.#endingWith.push(before + lastRun);
    }
    for (let index = this.#bookings.length - 1; index >= 0; index--) {
      const { firstRun, isOneRun } = this.#bookings[index]!;
      const after = isOneRun && this.#joins(index, index + 1) ? this.#beginningWith[index + 1]! : 0;
      this.#beginningWith[index] = firstRun + after;
    }
  }

  #joins(before: number, after: number): boolean {
    const [one, other] = [this.#bookings[before], this.#bookings[after]];
    return one !== undefined && other !== undefined && this.#areJoined(one, other);
  }

  #areJoined(one: Booked, other: Booked): boolean {
    const buffers = one.holdEndsAt - one.endsAt + (other.startsAt - other.holdStartsAt);
    return other.startsAt - one.endsAt <= Math.max(this.#minGapMs, buffers);
  }

  #placeOf(at: number): number {
    let [from, to] = [0, this.#bookings.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#bookings[middle]!.startsAt >= at) to = middle;
      else from = middle + 1;
    }
    return from;
  }

  /** Milliseconds to the nearer neighbour. */
  gapAround({ startsAt, endsAt }: Booked): number {
    const place = this.#placeOf(startsAt);
    const [before, after] = [this.#bookings[place - 1], this.#bookings[place]];
    return Math.min(before ? startsAt - before.endsAt : Infinity, after ? after.startsAt - endsAt : Infinity);
  }

  /** The bookings that would be one run with this one, without it. */
  joinedBy(booked: Booked): number {
    const place = this.#placeOf(booked.startsAt);
    const [before, after] = [this.#bookings[place - 1], this.#bookings[place]];
    return (
      (before && this.#areJoined(before, booked) ? this.#endingWith[place - 1]! : 0) +
      (after && this.#areJoined(booked, after) ? this.#beginningWith[place]! : 0)
    );
  }

  /** The longest run with a booking that starts in this time, where each block is one booking. */
  maxConsecutiveIn({ startsAt, endsAt }: Interval): number {
    let max = 0;
    for (let place = this.#placeOf(startsAt); (this.#bookings[place]?.startsAt ?? Infinity) < endsAt; place++) {
      max = Math.max(max, this.#endingWith[place]! + this.#beginningWith[place]! - 1);
    }
    return max;
  }
}

/** The limits of an organization, for bookings of one event type that start on these days of the host. */
export class LimitCheck {
  readonly #limits: BookingLimits;
  readonly #counting: readonly Period[];
  readonly #counts: Counts;
  readonly #runs: Runs | undefined;
  readonly #host: ZoneClock;

  /** @param host for the days */
  constructor(
    { timezone, limits }: Pick<CalendarRules, 'timezone' | 'limits'>,
    occupied: Occupied,
    host: ZoneClock,
    days: { from: DayNumber; to: DayNumber },
  ) {
    this.#limits = limits;
    this.#counting = setPeriods(limits);
    this.#host = host;
    this.#counts = new Counts(limits, timezone, occupied.counted, countedTime({ timezone, limits }, days));
    if (limits.minGapMinutes || limits.consecutiveMax !== null) {
      this.#runs = new Runs(occupied.bookings, limits.minGapMinutes);
    }
  }

  /** The first limit that a booking without overlaps would exceed. */
  check(booked: Booked): LimitRefusal | undefined {
    const { minGapMinutes, consecutiveMax } = this.#limits;
    const refuse = (limit: keyof BookingLimits, max: number, current: number, period?: string): LimitRefusal => ({
      code: 'booking_limit_reached',
      limit,
      max,
      current,
      ...(period && { period }),
    });
    if (this.#runs && minGapMinutes) {
      const gap = this.#runs.gapAround(booked);
      if (gap < minGapMinutes * minuteMs) return refuse('minGapMinutes', minGapMinutes, Math.floor(gap / minuteMs));
    }
    if (this.#runs && consecutiveMax !== null) {
      const joined = this.#runs.joinedBy(booked);
      if (joined >= consecutiveMax) return refuse('consecutiveMax', consecutiveMax, joined);
    }
    if (this.#counting.length === 0) return undefined;
    const day = this.#host.dayAt(booked.startsAt);
    for (const period of this.#counting) {
      const max = this.#limits[period.limit]!;
      const current = this.#counts.of(period, day);
      if (current >= max) return refuse(period.limit, max, current, period.write(day));
    }
    return undefined;
  }

  /** The rest of each limit on a day; null without a limit. */
  remainingOn(day: DayNumber): Remaining {
    const left = (limit: Period['limit']) => {
      const period = this.#counting.find((one) => one.limit === limit);
      return period ? Math.max(0, this.#limits[limit]! - this.#counts.of(period, day)) : null;
    };
    const { consecutiveMax } = this.#limits;
    const times = { startsAt: this.#host.startOfDay(day), endsAt: this.#host.startOfDay(day + 1) };
    const max = this.#runs?.maxConsecutiveIn(times) ?? 0;
    return {
      daily: left('dailyMax'),
      weekly: left('weeklyMax'),
      monthly: left('monthlyMax'),
      consecutive: consecutiveMax === null ? null : Math.max(0, consecutiveMax - max),
    };
  }
}

export interface Remaining {
  daily: number | null;
  weekly: number | null;
  monthly: number | null;
  /** Less the longest run of the host that has a booking starting on that day. */
  consecutive: number | null;
}

/**
 * The rest of the limits on a day of the host, and whether days, weeks and months allow another booking.
 * @param occupied as `readsForCheck` asks for
 */
export function remainingBookings(
  rules: Pick<CalendarRules, 'timezone' | 'limits'>,
  day: DayNumber,
  occupied: Occupied,
): { allowed: boolean; remaining: Remaining } {
  const host = new ZoneClock(rules.timezone, { startsAt: (day - 2) * dayMs, endsAt: (day + 3) * dayMs });
  const remaining = new LimitCheck(rules, occupied, host, { from: day, to: day }).remainingOn(day);
  const { daily, weekly, monthly } = remaining;
  return { allowed: [daily, weekly, monthly].every((left) => left !== 0), remaining };
}
