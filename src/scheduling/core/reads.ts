import { type DayNumber, dayMs, minuteMs } from './calendar-date.ts';
import type { Interval } from './intervals.ts';
import { type CountedTime, countedTime } from './limits.ts';
import type { DayRange } from './read-times.ts';
import type { CalendarRules, EventTypeRules } from './rules.ts';
import { ZoneClock } from './zone-clock.ts';

/** The data to read before a decision: it grows with the requested days, not with all stored data. */
export interface Reads {
  /** The host's bookings whose hold overlaps this. */
  bookings: Interval;
  /** And as many of them, by start, directly before and directly after; 0 unless consecutiveMax is set. */
  neighbours: number;
  /** Bookings with at most this between them may be read as one block, in milliseconds; -1: with nothing between them. */
  mergedGap: number;
  /** From which gap on two bookings form no run, if their buffers do not join them. */
  minGapMinutes: number;
  /** The bookings of the event type that start in this; null when they do not matter. */
  counted: CountedTime | null;
  /** Busy times of the host's calendars that overlap this, with `mergedGap` likewise. */
  busy: Interval;
  /** The time to be decided about begins here: of the busy times that end by then, and of the others, the first suffices. */
  decidesAt: number | null;
}

/** A slot fits in no shorter time. */
const shorterThan = (minutes: number) => minutes * minuteMs - 1;

/** The requested days, both included, in the zone of the caller. */
export interface SlotQuery {
  range: DayRange;
  timezone: string;
}

/** The moments of these days. */
export function momentsOf({ range, timezone }: SlotQuery): Interval {
  const around = { startsAt: (range.from - 2) * dayMs, endsAt: (range.to + 3) * dayMs };
  const clock = new ZoneClock(timezone, around);
  return { startsAt: clock.startOfDay(range.from), endsAt: clock.startOfDay(range.to + 1) };
}

function reads(
  rules: CalendarRules,
  eventType: EventTypeRules,
  { startsAt, endsAt }: Interval,
): Omit<Reads, 'mergedGap' | 'decidesAt'> {
  const { limits, timezone } = rules;
  const host = new ZoneClock(timezone, { startsAt, endsAt });
  const before = eventType.bufferBefore * minuteMs;
  const after = eventType.bufferAfter * minuteMs;
  const gap = (limits.minGapMinutes ?? 0) * minuteMs;
  return {
    bookings: { startsAt: startsAt - Math.max(before, gap), endsAt: endsAt + Math.max(after, gap) },
    neighbours: limits.consecutiveMax ?? 0,
    minGapMinutes: limits.minGapMinutes ?? 0,
    counted: countedTime(rules, { from: host.dayAt(startsAt), to: host.dayAt(endsAt) }),
    busy: { startsAt: startsAt - before, endsAt: endsAt + after },
  };
}

export function readsForBooking(rules: CalendarRules, eventType: EventTypeRules, startsAt: number): Reads {
  const around = reads(rules, eventType, { startsAt, endsAt: startsAt + eventType.duration * minuteMs });
  return { ...around, mergedGap: 0, decidesAt: startsAt };
}

/** No past data is read. */
export function readsForSlots(rules: CalendarRules, eventType: EventTypeRules, query: SlotQuery, now: number): Reads {
  const { startsAt, endsAt } = momentsOf(query);
  const from = Math.min(Math.max(startsAt, now), endsAt);
  const around = reads(rules, eventType, { startsAt: from, endsAt: endsAt + eventType.duration * minuteMs });
  return { ...around, mergedGap: shorterThan(eventType.duration), decidesAt: null };
}

/** For the rest of the limits on a day of the host. */
export function readsForCheck(rules: Pick<CalendarRules, 'timezone' | 'limits'>, day: DayNumber): Reads {
  const times = momentsOf({ range: { from: day, to: day }, timezone: rules.timezone });
  return {
    bookings: times,
    neighbours: rules.limits.consecutiveMax ?? 0,
    // The run of a booking that starts on the day matters, so each is needed.
    mergedGap: -1,
    minGapMinutes: rules.limits.minGapMinutes ?? 0,
    counted: countedTime(rules, { from: day, to: day }),
    busy: { startsAt: times.startsAt, endsAt: times.startsAt },
    decidesAt: null,
  };
}

/** A run that began before is followed back for a day, and zones differ by more than one. */
const holidayMargin = 4;

/** The days whose holidays matter for the slots of these days. */
export const holidayDaysForSlots = ({ range }: SlotQuery): DayRange => ({
  from: range.from - holidayMargin,
  to: range.to + holidayMargin,
});

/** The same for one time. */
export function holidayDaysForBooking(startsAt: number): DayRange {
  const day = Math.floor(startsAt / dayMs);
  return { from: day - holidayMargin, to: day + holidayMargin };
}
