import { Blackouts } from './blackouts.ts';
import { type DayNumber, dayMs, dayNumber, hourMs, minuteMs, weekdayOf, writeDay } from './calendar-date.ts';
import { type Interval, Spans } from './intervals.ts';
import { LimitCheck } from './limits.ts';
import type { Occupied } from './occupied.ts';
import { patternIntervals } from './patterns.ts';
import { type DayRange, endOfTime, readHours } from './read-times.ts';
import type { Refusal } from './refusals.ts';
import {
  type CalendarRules,
  type DayHours,
  defaultWeeklyHours,
  type EventTypeRules,
  type WeeklyHours,
  weekdays,
} from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

/** Beyond the window: no two clocks differ by more, and a requested day is read as a whole. */
const marginMs = 2 * dayMs;

function wallRanges(hours: DayHours | undefined): Interval[] {
  return (hours ?? []).map((text) => {
    const range = readHours(text);
    if (!range) throw new RangeError(`Not a range of hours: ${text}`);
    return { startsAt: range.from * minuteMs, endsAt: range.to * minuteMs };
  });
}

const onDay = (day: DayNumber, ranges: Iterable<Interval>): Interval[] =>
  [...ranges].map(({ startsAt, endsAt }) => ({ startsAt: day * dayMs + startsAt, endsAt: day * dayMs + endsAt }));

/** The hours of a week on the wall, repeated over these days. */
function weekOnWall(week: WeeklyHours, { from, to }: DayRange): Spans {
  const byWeekday = weekdays.map((day) => Spans.of(wallRanges(week[day])));
  const all: Interval[] = [];
  for (let day = from; day <= to; day++) all.push(...onDay(day, byWeekday[weekdayOf(day)]!));
  return Spans.of(all);
}

const daysIn = (clock: ZoneClock, { startsAt, endsAt }: Interval): DayRange => ({
  from: clock.dayAt(startsAt) - 1,
  to: clock.dayAt(endsAt) + 1,
});

/** When a host is open within a window, and why not. */
class Openings {
  readonly host: ZoneClock;
  /** Weekly hours, opening patterns, business hours, exceptions and holidays: the anchors of the grid of slots. */
  readonly hours: Spans;
  /** The same without the patterns that close. */
  readonly open: Spans;
  readonly blackouts: Spans;
  readonly #business: ZoneClock;
  readonly #exceptionDays: ReadonlySet<DayNumber>;
  readonly #holidays: ReadonlySet<DayNumber>;

  /** @param holidays days that are public holidays somewhere in the window, for the codes in the business hours */
  constructor(rules: CalendarRules, holidays: ReadonlySet<DayNumber>, window: Interval) {
    const { timezone, businessHours } = rules;
    const around = { startsAt: window.startsAt - marginMs, endsAt: window.endsAt + marginMs };
    this.host = new ZoneClock(timezone, around);
    const isSameZone = !businessHours?.timezone || businessHours.timezone === timezone;
    this.#business = isSameZone ? this.host : new ZoneClock(businessHours.timezone!, around);
    this.#holidays = holidays;

    const days = daysIn(this.host, window);
    const patterns = (opens: boolean) =>
      Spans.of(
        rules.patterns
          .filter(({ blockType }) => (blockType === 'available') === opens)
          .flatMap((pattern) => [...patternIntervals(pattern, days, this.host)]),
      );
    const weekly = this.host.showing(weekOnWall(rules.weeklyHours ?? defaultWeeklyHours, days)).union(patterns(true));
    const { hours, exceptionDays } = this.#withBusinessHours(weekly, rules, window);
    this.#exceptionDays = exceptionDays;
    const within = { startsAt: window.startsAt, endsAt: Math.min(window.endsAt, endOfTime) };
    this.hours = hours.intersect(Spans.of([within]));
    this.open = this.hours.subtract(patterns(false));
    this.blackouts = new Blackouts(rules.blackouts, timezone).within(window, this.host);
  }

  #withBusinessHours(weekly: Spans, { businessHours }: CalendarRules, window: Interval) {
    const exceptionDays = new Set<DayNumber>();
    const days = daysIn(this.#business, window);
    const [first, last] = [writeDay(days.from), writeDay(days.to)];
    const replaced: Interval[] = [];
    const opened: Interval[] = [];
    for (let day = days.from; day <= days.to; day++) {
      if (this.#holidays.has(day)) replaced.push({ startsAt: day * dayMs, endsAt: (day + 1) * dayMs });
    }
    for (const { date, hours } of businessHours?.exceptions ?? []) {
      if (date < first || date > last) continue;
      const day = dayNumber(date);
      exceptionDays.add(day);
      replaced.push({ startsAt: day * dayMs, endsAt: (day + 1) * dayMs });
      opened.push(...onDay(day, wallRanges(hours)));
    }
    const regular = businessHours?.default
      ? weekly.intersect(this.#business.showing(weekOnWall(businessHours.default, days)))
      : weekly;
    const hours = regular
      .subtract(this.#business.showing(Spans.of(replaced)))
      .union(this.#business.showing(Spans.of(opened)));
    return { hours, exceptionDays };
  }

  /** Why a moment that is not open is closed. */
  reasonAt(at: number): 'closed' | 'exception' | 'holiday' | 'pattern' {
    if (this.hours.contains(at, at + 1)) return 'pattern';
    const day = this.#business.dayAt(at);
    if (this.#exceptionDays.has(day)) return 'exception';
    return this.#holidays.has(day) ? 'holiday' : 'closed';
  }
}

/** All that decides whether a time can be booked. */
export interface Facts {
  /** Milliseconds since the epoch. */
  now: number;
  rules: CalendarRules;
  eventType: EventTypeRules;
  occupied: Occupied;
  /** Public holidays by the codes in the business hours (`publicHolidays`), at least those near the requested time. */
  holidays: ReadonlySet<DayNumber>;
}

/** The moment after the last day on which bookings may start: its end in the host's zone. */
function endOfAdvance(now: number, maxAdvance: number, timezone: string): number {
  const today = new ZoneClock(timezone, { startsAt: now, endsAt: now }).dayAt(now);
  const after = today + maxAdvance + 1;
  if (after * dayMs >= endOfTime) return Infinity;
  const around = { startsAt: (after - 2) * dayMs, endsAt: (after + 2) * dayMs };
  return new ZoneClock(timezone, around).startOfDay(after);
}

/**
 * Decides for times within a window. Availability and bookings both use it, so a booking of an available time is
 * accepted. The checks have the published order.
 */
export class Decider {
  readonly openings: Openings;
  readonly #now: number;
  readonly #eventType: EventTypeRules;
  readonly #earliest: number;
  readonly #advanceEnds: number;
  readonly #booked: Spans;
  readonly #holds: Spans;
  readonly #busy: Spans;
  readonly #limits: LimitCheck;

  constructor({ now, rules, eventType, occupied, holidays }: Facts, window: Interval) {
    this.#now = now;
    this.#eventType = eventType;
    this.#earliest = now + eventType.minNotice * hourMs;
    this.#advanceEnds =
      eventType.maxAdvance === null ? Infinity : endOfAdvance(now, eventType.maxAdvance, rules.timezone);
    this.openings = new Openings(rules, holidays, window);
    this.#booked = Spans.of(occupied.bookings);
    this.#holds = Spans.of(
      occupied.bookings.map(({ holdStartsAt, holdEndsAt }) => ({ startsAt: holdStartsAt, endsAt: holdEndsAt })),
    );
    this.#busy = Spans.of(occupied.busy);
    const { host } = this.openings;
    const days = { from: host.dayAt(window.startsAt), to: host.dayAt(window.endsAt) };
    this.#limits = new LimitCheck(rules, occupied, host, days);
  }

  /** Why start..end cannot be booked; undefined when it can. */
  decide(startsAt: number, endsAt: number): Refusal | undefined {
    return (
      this.#refuseEarlyOrLate(startsAt, endsAt) ??
      this.#refuseClosed(startsAt, endsAt) ??
      this.#refuseOccupied(startsAt, endsAt)
    );
  }

  /** Undefined when the host is closed then, so that it is no slot at all; otherwise whether it can be booked. */
  offers(startsAt: number, endsAt: number): boolean | undefined {
    if (this.#refuseClosed(startsAt, endsAt)) return undefined;
    return !this.#refuseEarlyOrLate(startsAt, endsAt) && !this.#refuseOccupied(startsAt, endsAt);
  }

  #refuseEarlyOrLate(startsAt: number, endsAt: number): Refusal | undefined {
    if (!this.#eventType.isActive) return { code: 'outside_availability', startsAt, endsAt, reason: 'inactive' };
    if (startsAt < this.#now || startsAt < this.#earliest) {
      const earliest = Math.ceil(this.#earliest / minuteMs) * minuteMs;
      return { code: 'notice_too_short', startsAt, endsAt, reason: startsAt < this.#now ? 'past' : 'notice', earliest };
    }
    if (startsAt >= this.#advanceEnds) {
      const latest = this.#advanceEnds - minuteMs;
      return { code: 'too_far_advance', startsAt, endsAt, reason: 'advance', latest };
    }
    return undefined;
  }

  #refuseClosed(startsAt: number, endsAt: number): Refusal | undefined {
    const { blackouts, open } = this.openings;
    const conflictsUntil = blackouts.overlapsUntil(startsAt, endsAt);
    if (conflictsUntil !== undefined) {
      return { code: 'blackout_period', startsAt, endsAt, reason: 'blackout', conflictsUntil };
    }
    const closedAt = open.firstGap(startsAt, endsAt);
    if (closedAt === undefined) return undefined;
    return { code: 'outside_availability', startsAt, endsAt, reason: this.openings.reasonAt(closedAt) };
  }

  #refuseOccupied(startsAt: number, endsAt: number): Refusal | undefined {
    const booked = this.#booked.overlapsUntil(startsAt, endsAt);
    if (booked !== undefined) {
      return { code: 'slot_unavailable', startsAt, endsAt, reason: 'booked', conflictsUntil: booked };
    }
    const busy = this.#busy.overlapsUntil(startsAt, endsAt);
    if (busy !== undefined) {
      return { code: 'slot_unavailable', startsAt, endsAt, reason: 'calendar', conflictsUntil: busy };
    }
    const holdStartsAt = startsAt - this.#eventType.bufferBefore * minuteMs;
    const holdEndsAt = endsAt + this.#eventType.bufferAfter * minuteMs;
    const held =
      this.#holds.overlapsUntil(holdStartsAt, holdEndsAt) ?? this.#busy.overlapsUntil(holdStartsAt, holdEndsAt);
    if (held !== undefined)
      return { code: 'buffer_conflict', startsAt, endsAt, reason: 'buffer', conflictsUntil: held };
    return this.#limits.check({ startsAt, endsAt, holdStartsAt, holdEndsAt });
  }
}

/**
 * Why a booking of the event type cannot start at this moment; undefined when it can.
 * @param startsAt on a whole minute
 */
export function decideBooking(facts: Facts, startsAt: number): Refusal | undefined {
  const endsAt = startsAt + facts.eventType.duration * minuteMs;
  return new Decider(facts, { startsAt, endsAt }).decide(startsAt, endsAt);
}
