import type { Facts } from '../../src/scheduling/core/decide.ts';
import type { SlotQuery } from '../../src/scheduling/core/reads.ts';
import {
  defaultWeeklyHours,
  type RecurringPattern,
  type WeeklyHours,
  weekdays,
} from '../../src/scheduling/core/rules.ts';
import { dateAt, momentOf, wallAt } from './oracle-clock.ts';

/*
 * Slots and refusals by the letter of the rules, minute by minute, with what Intl says that clocks show: slow, and sharing
 * neither code nor library with the product.
 */

const minute = 60_000;
const day = 86_400_000;

const minutesOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
const endOf = (text: string) => (text === '23:59' ? 24 * 60 : minutesOf(text));
/** 1970-01-01 was a Thursday. */
const weekdayOf = (date: number) => (date + 4) % 7;
const dateOf = (text: string) => Date.parse(text) / day;

const read = new WeakMap<readonly string[], [number, number][]>();

function shows(ranges: readonly string[] | null | undefined, minuteOfDay: number): boolean {
  if (!ranges) return false;
  let minutes = read.get(ranges);
  if (!minutes) {
    minutes = ranges.map((range) => [minutesOf(range.slice(0, 5)), endOf(range.slice(6))]);
    read.set(ranges, minutes);
  }
  return minutes.some(([from, to]) => from <= minuteOfDay && minuteOfDay < to);
}

const inWeek = (week: WeeklyHours, wall: number) =>
  shows(week[weekdays[weekdayOf(Math.floor(wall / day))]!], Math.floor((wall % day) / minute));

const monthsSince = (start: Date, date: Date) =>
  (date.getUTCFullYear() - start.getUTCFullYear()) * 12 + date.getUTCMonth() - start.getUTCMonth();
const lengthOfMonth = (date: Date) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();

/** Whether a pattern falls on a date, whichever came before. */
export function fallsOn(
  { pattern, interval, daysOfWeek, startDate, endDate }: RecurringPattern,
  date: number,
): boolean {
  const start = dateOf(startDate);
  if (date < start || (endDate !== null && date > dateOf(endDate))) return false;
  const [first, now] = [new Date(start * day), new Date(date * day)];
  const months = { MONTHLY: 1, MONTHLY_NTH: 1, QUARTERLY: 3, YEARLY: 12 };
  if (pattern === 'DAILY') return (date - start) % interval === 0;
  if (pattern === 'WEEKLY' || pattern === 'BI_WEEKLY') {
    const days = daysOfWeek?.length ? daysOfWeek : [weekdayOf(start)];
    let match = start;
    while (!days.includes(weekdayOf(match))) match++;
    const monday = (of: number) => of - ((weekdayOf(of) + 6) % 7);
    const weeks = (monday(date) - monday(match)) / 7;
    return days.includes(weekdayOf(date)) && weeks % (pattern === 'WEEKLY' ? interval : 2 * interval) === 0;
  }
  if (monthsSince(first, now) % (interval * months[pattern]) !== 0) return false;
  if (pattern !== 'MONTHLY_NTH') return now.getUTCDate() === Math.min(first.getUTCDate(), lengthOfMonth(now));
  if (weekdayOf(date) !== (daysOfWeek?.[0] ?? weekdayOf(start))) return false;
  const nth = Math.ceil(first.getUTCDate() / 7);
  return nth === 5 ? now.getUTCDate() + 7 > lengthOfMonth(now) : Math.ceil(now.getUTCDate() / 7) === nth;
}

const occurrences = new WeakMap<RecurringPattern, Map<number, [from: number, to: number] | undefined>>();

/** When a pattern holds on a date of the zone. A pattern is asked about in one zone only. */
function occurrenceOn(pattern: RecurringPattern, zone: string, date: number): [number, number] | undefined {
  const known = occurrences.get(pattern) ?? new Map<number, [number, number] | undefined>();
  occurrences.set(pattern, known);
  if (!known.has(date)) known.set(date, fallsOn(pattern, date) ? occurrence(pattern, zone, date) : undefined);
  return known.get(date);
}

function occurrence({ timeStart, timeEnd }: RecurringPattern, zone: string, date: number): [number, number] {
  const from = momentOf(zone, date * day + minutesOf(timeStart) * minute);
  const to = momentOf(zone, date * day + endOf(timeEnd) * minute);
  return [from, to > from ? to : from + (endOf(timeEnd) - minutesOf(timeStart)) * minute];
}

function inPattern(pattern: RecurringPattern, zone: string, at: number): boolean {
  const date = dateAt(zone, at);
  return [date - 1, date].some((one) => {
    const [from, to] = occurrenceOn(pattern, zone, one) ?? [0, 0];
    return from <= at && at < to;
  });
}

/** The code, and the reason or limit, of the first refusal; undefined when the time can be booked. */
export type RefusalReason = string | undefined;

export class Oracle {
  readonly #facts: Facts;
  readonly #known = new Map<number, boolean>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  #exceptionAt(at: number) {
    const { rules } = this.#facts;
    const { businessHours } = rules;
    const date = dateAt(businessHours?.timezone ?? rules.timezone, at);
    return businessHours?.exceptions.find((one) => dateOf(one.date) === date);
  }

  #isHoliday(at: number): boolean {
    const { rules, holidays } = this.#facts;
    return holidays.has(dateAt(rules.businessHours?.timezone ?? rules.timezone, at));
  }

  /** Whether the grid of slots knows this minute. */
  #inHours(at: number): boolean {
    let known = this.#known.get(at);
    if (known === undefined) {
      known = this.#computeInHours(at);
      this.#known.set(at, known);
    }
    return known;
  }

  #computeInHours(at: number): boolean {
    const { rules } = this.#facts;
    const { businessHours, timezone, patterns } = rules;
    const wall = wallAt(businessHours?.timezone ?? timezone, at);
    const exception = this.#exceptionAt(at);
    if (exception) return shows(exception.hours, Math.floor((wall % day) / minute));
    if (this.#isHoliday(at)) return false;
    const opens = patterns.filter(({ blockType }) => blockType === 'available');
    const isOpen =
      inWeek(rules.weeklyHours ?? defaultWeeklyHours, wallAt(timezone, at)) ||
      opens.some((pattern) => inPattern(pattern, timezone, at));
    return isOpen && (!businessHours?.default || inWeek(businessHours.default, wall));
  }

  #inBlackout(at: number): boolean {
    const { timezone, blackouts } = this.#facts.rules;
    return blackouts.some(({ start, end, allDay, recurring }) => {
      if (!allDay) return Date.parse(start) <= at && at < Date.parse(end);
      const date = dateAt(timezone, at);
      if (!recurring) return dateOf(start) <= date && date <= dateOf(end);
      const inYear = (text: string, years: number) => {
        const [year, month, dayOfMonth] = text.split('-').map(Number) as [number, number, number];
        const moved = new Date(Date.UTC(year + years, month - 1, 1));
        return moved.getTime() / day + Math.min(dayOfMonth, lengthOfMonth(moved)) - 1;
      };
      return [0, 1, 2, 3, 4, 5, 6, 7].some((years) => inYear(start, years) <= date && date <= inYear(end, years));
    });
  }

  #closedBecause(from: number, to: number): RefusalReason {
    for (let at = from; at < to; at += minute) if (this.#inBlackout(at)) return 'blackout_period blackout';
    const { rules } = this.#facts;
    const closing = rules.patterns.filter(({ blockType }) => blockType !== 'available');
    for (let at = from; at < to; at += minute) {
      if (this.#inHours(at)) {
        if (closing.some((pattern) => inPattern(pattern, rules.timezone, at))) return 'outside_availability pattern';
      } else if (this.#exceptionAt(at)) return 'outside_availability exception';
      else return `outside_availability ${this.#isHoliday(at) ? 'holiday' : 'closed'}`;
    }
    return undefined;
  }

  #earlyOrLate(from: number): RefusalReason {
    const { now, eventType, rules } = this.#facts;
    if (from < now) return 'notice_too_short past';
    if (from < now + eventType.minNotice * 60 * minute) return 'notice_too_short notice';
    const { maxAdvance } = eventType;
    if (maxAdvance !== null && dateAt(rules.timezone, from) > dateAt(rules.timezone, now) + maxAdvance) {
      return 'too_far_advance advance';
    }
    return undefined;
  }

  #takenBecause(from: number, to: number): RefusalReason {
    const { eventType, occupied } = this.#facts;
    if (occupied.bookings.some((one) => one.startsAt < to && one.endsAt > from)) return 'slot_unavailable booked';
    if (occupied.busy.some((one) => one.startsAt < to && one.endsAt > from)) return 'slot_unavailable calendar';
    const [holdFrom, holdTo] = [from - eventType.bufferBefore * minute, to + eventType.bufferAfter * minute];
    if (
      occupied.bookings.some((one) => one.holdStartsAt < holdTo && one.holdEndsAt > holdFrom) ||
      occupied.busy.some((one) => one.startsAt < holdTo && one.endsAt > holdFrom)
    ) {
      return 'buffer_conflict buffer';
    }
    return this.#overLimit({ startsAt: from, endsAt: to, holdStartsAt: holdFrom, holdEndsAt: holdTo });
  }

  #overLimit(asked: { startsAt: number; endsAt: number; holdStartsAt: number; holdEndsAt: number }): RefusalReason {
    const { occupied, rules } = this.#facts;
    const { limits, timezone } = rules;
    const all = [...occupied.bookings, asked].sort((a, b) => a.startsAt - b.startsAt);
    const gap = (limits.minGapMinutes ?? 0) * minute;
    const place = all.indexOf(asked);
    const pause = (index: number) => all[index + 1]!.startsAt - all[index]!.endsAt;
    if ((place > 0 && pause(place - 1) < gap) || (place + 1 < all.length && pause(place) < gap)) {
      return 'booking_limit_reached minGapMinutes';
    }
    const joins = (index: number) => {
      const [one, other] = [all[index], all[index + 1]];
      if (!one || !other) return false;
      return pause(index) <= Math.max(gap, one.holdEndsAt - one.endsAt + other.startsAt - other.holdStartsAt);
    };
    let [first, last] = [place, place];
    while (joins(first - 1)) first--;
    while (joins(last)) last++;
    if (limits.consecutiveMax !== null && last - first + 1 > limits.consecutiveMax) {
      return 'booking_limit_reached consecutiveMax';
    }
    const dates = occupied.counted.map(({ at }) => dateAt(timezone, at));
    const date = dateAt(timezone, asked.startsAt);
    const monday = (of: number) => of - ((weekdayOf(of) + 6) % 7);
    const month = (of: number) => new Date(of * day).toISOString().slice(0, 7);
    const count = (same: (one: number) => boolean) => dates.filter(same).length;
    if (limits.dailyMax !== null && count((one) => one === date) >= limits.dailyMax) {
      return 'booking_limit_reached dailyMax';
    }
    if (limits.weeklyMax !== null && count((one) => monday(one) === monday(date)) >= limits.weeklyMax) {
      return 'booking_limit_reached weeklyMax';
    }
    const inMonth = limits.monthlyMax !== null && count((one) => month(one) === month(date)) >= limits.monthlyMax;
    return inMonth ? 'booking_limit_reached monthlyMax' : undefined;
  }

  refuse(from: number): RefusalReason {
    const to = from + this.#facts.eventType.duration * minute;
    if (!this.#facts.eventType.isActive) return 'outside_availability inactive';
    return this.#earlyOrLate(from) ?? this.#closedBecause(from, to) ?? this.#takenBecause(from, to);
  }

  /** Stretches of open minutes, those of a day and more divided where a date of the host begins. */
  #pieces(from: number, to: number): [number, number][] {
    const runs: [number, number][] = [];
    for (let at = from; at < to; at += minute) {
      if (!this.#inHours(at)) continue;
      const last = runs.at(-1);
      if (last && last[1] === at) last[1] = at + minute;
      else runs.push([at, at + minute]);
    }
    const { timezone } = this.#facts.rules;
    return runs.flatMap(([startsAt, endsAt]) => {
      if (endsAt - startsAt < day) return [[startsAt, endsAt]];
      const cuts = [startsAt];
      for (let at = startsAt + minute; at < endsAt; at += minute) {
        if (dateAt(timezone, at) > dateAt(timezone, at - minute)) cuts.push(at);
      }
      return cuts.map((cut, index): [number, number] => [cut, cuts[index + 1] ?? endsAt]);
    });
  }

  /** `<start> <available>` of each slot. */
  slots({ range, timezone }: SlotQuery): string[] {
    const { now, eventType } = this.#facts;
    const length = eventType.duration * minute;
    const today = dateAt(timezone, now);
    const found: string[] = [];
    for (const [startsAt, endsAt] of this.#pieces((range.from - 3) * day, (range.to + 4) * day)) {
      for (let at = startsAt; at + length <= endsAt; at += length) {
        const date = dateAt(timezone, at);
        if (date < range.from || date > range.to || date < today || this.#closedBecause(at, at + length)) continue;
        found.push(`${new Date(at).toISOString()} ${this.refuse(at) === undefined}`);
      }
    }
    return eventType.isActive ? found : [];
  }
}
