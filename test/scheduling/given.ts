import type { Facts } from '../../src/scheduling/core/decide.ts';
import { type Interval, Spans } from '../../src/scheduling/core/intervals.ts';
import { type BookedBlock, blockOf, type CountedBookings, type Occupied } from '../../src/scheduling/core/occupied.ts';
import { readDayRange, readInstant } from '../../src/scheduling/core/read-times.ts';
import { type Reads, readsForBooking, readsForSlots, type SlotQuery } from '../../src/scheduling/core/reads.ts';
import {
  type BookingLimits,
  type CalendarRules,
  type EventTypeRules,
  noLimits,
  type WeeklyHours,
  weekdays,
} from '../../src/scheduling/core/rules.ts';
import { listSlots } from '../../src/scheduling/core/slots.ts';
import { writeSlots } from '../../src/scheduling/core/write-times.ts';

const minute = 60_000;

/** The same hours every day. */
export const everyDay = (...ranges: string[]): WeeklyHours => Object.fromEntries(weekdays.map((day) => [day, ranges]));

/** The same hours on some days: `onDays('monday tuesday', '09:00-17:00')`. */
export const onDays = (days: string, ...ranges: string[]): WeeklyHours =>
  Object.fromEntries(days.split(' ').map((day) => [day, ranges]));

export const workdays = 'monday tuesday wednesday thursday friday';

export interface Given {
  now?: string;
  rules?: Partial<CalendarRules>;
  limits?: Partial<BookingLimits>;
  eventType?: Partial<EventTypeRules>;
  occupied?: Partial<Occupied>;
  /** YYYY-MM-DD */
  holidays?: string[];
}

/** A type of an hour without notice, a host in UTC who is open around the clock, and nothing taken. */
export function given({ now = '2030-01-01T00:00Z', rules, limits, eventType, occupied, holidays = [] }: Given): Facts {
  return {
    now: moment(now),
    rules: {
      timezone: 'UTC',
      weeklyHours: everyDay('00:00-24:00'),
      businessHours: null,
      blackouts: [],
      patterns: [],
      limits: { ...noLimits, ...limits },
      ...rules,
    },
    eventType: {
      duration: 60,
      bufferBefore: 0,
      bufferAfter: 0,
      minNotice: 0,
      maxAdvance: null,
      isActive: true,
      ...eventType,
    },
    occupied: { bookings: [], counted: [], busy: [], ...occupied },
    holidays: new Set(holidays.map((date) => Date.parse(date) / 86_400_000)),
  };
}

export function moment(text: string): number {
  const at = readInstant(text);
  if (at === undefined) throw new Error(`Not an instant: ${text}`);
  return at;
}

/** A booking of so many minutes, with its buffers. */
export function booked(start: string | number, minutes: number, before = 0, after = 0): BookedBlock {
  const startsAt = typeof start === 'string' ? moment(start) : start;
  const endsAt = startsAt + minutes * minute;
  return blockOf({ startsAt, endsAt, holdStartsAt: startsAt - before * minute, holdEndsAt: endsAt + after * minute });
}

/** These bookings, which are also the ones that limits count. */
export const bookings = (...list: BookedBlock[]): Partial<Occupied> => ({
  bookings: list,
  counted: list.map(({ startsAt }) => ({ at: startsAt, count: 1 })),
});

export function query(start: string, end: string, timezone = 'UTC'): SlotQuery {
  const found = readDayRange(start, end);
  if ('problems' in found) throw new Error(JSON.stringify(found.problems));
  return { range: found.range, timezone };
}

/** Starts of the slots that can be booked, to the minute, as published. */
export function openStarts(facts: Facts, start: string, end = start, timezone = 'UTC'): string[] {
  return writeSlots(listSlots(facts, query(start, end, timezone)), timezone)
    .filter(({ available }) => available)
    .map((slot) => slot.start.replace(':00.000', ''));
}

/** The same bookings, those with no more than the gap of `reads` between them as one. @param sorted by start */
function mergeBookings(sorted: readonly BookedBlock[], { mergedGap, minGapMinutes }: Reads): BookedBlock[] {
  const blocks: BookedBlock[] = [];
  let before: BookedBlock | undefined;
  for (const one of sorted) {
    const block = blocks.at(-1);
    const gap = before ? one.startsAt - before.endsAt : Infinity;
    const buffers = before ? before.holdEndsAt - before.endsAt + one.startsAt - one.holdStartsAt : 0;
    before = one;
    if (!block || gap > mergedGap) {
      blocks.push({ ...one });
      continue;
    }
    const isJoined = gap <= Math.max(minGapMinutes * minute, buffers);
    if (isJoined && block.isOneRun) block.firstRun++;
    block.isOneRun &&= isJoined;
    block.lastRun = isJoined ? block.lastRun + 1 : 1;
    block.endsAt = one.endsAt;
    block.holdEndsAt = one.holdEndsAt;
  }
  return blocks;
}

/** The same busy times likewise, and no more of them than decide about a time. */
function mergeBusy(busy: Occupied['busy'], { mergedGap, decidesAt }: Reads): Interval[] {
  const gap = Math.max(mergedGap, 0);
  const merged = [...Spans.of(busy.map(({ startsAt, endsAt }) => ({ startsAt, endsAt: endsAt + gap })))];
  const all = merged.map(({ startsAt, endsAt }) => ({ startsAt, endsAt: endsAt - gap }));
  if (decidesAt === null) return all;
  return [true, false].flatMap((isOver) => all.find(({ endsAt }) => endsAt <= decidesAt === isOver) ?? []);
}

function countBetween(cuts: readonly number[], counted: Occupied['counted']): CountedBookings[] {
  return cuts.slice(0, -1).flatMap((at, index) => {
    const within = counted.filter((one) => one.at >= at && one.at < cuts[index + 1]!);
    return within.length === 0 ? [] : [{ at, count: within.reduce((sum, { count }) => sum + count, 0) }];
  });
}

/** What a caller reads when he reads no more than he is asked to. */
export function restrict(occupied: Occupied, reads: Reads): Occupied {
  const { startsAt, endsAt } = reads.bookings;
  const sorted = [...occupied.bookings].sort((a, b) => a.startsAt - b.startsAt);
  const before = sorted.filter(({ holdEndsAt }) => holdEndsAt <= startsAt);
  const after = sorted.filter(({ holdStartsAt }) => holdStartsAt >= endsAt);
  return {
    bookings: mergeBookings(
      [
        ...(reads.neighbours > 0 ? before.slice(-reads.neighbours) : []),
        ...sorted.filter((one) => one.holdEndsAt > startsAt && one.holdStartsAt < endsAt),
        ...after.slice(0, reads.neighbours),
      ],
      reads,
    ),
    counted: countBetween(reads.counted?.cuts ?? [], occupied.counted),
    busy: mergeBusy(
      occupied.busy.filter((one) => one.endsAt > reads.busy.startsAt && one.startsAt < reads.busy.endsAt),
      reads,
    ),
  };
}

export function asReadForSlots(facts: Facts, asked: SlotQuery): Facts {
  const reads = readsForSlots(facts.rules, facts.eventType, asked, facts.now);
  return { ...facts, occupied: restrict(facts.occupied, reads) };
}

export function asReadForBooking(facts: Facts, startsAt: number): Facts {
  const reads = readsForBooking(facts.rules, facts.eventType, startsAt);
  return { ...facts, occupied: restrict(facts.occupied, reads) };
}
