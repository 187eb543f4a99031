import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { dayNumber, writeDay } from '../core/calendar-date.ts';
import { type Remaining, remainingBookings } from '../core/limits.ts';
import { type DayRange, readDayRange } from '../core/read-times.ts';
import { holidayDaysForSlots, readsForCheck, readsForSlots, type SlotQuery } from '../core/reads.ts';
import { type Slot, walkSlots } from '../core/slots.ts';
import { writeSlots } from '../core/write-times.ts';
import { ZoneClock } from '../core/zone-clock.ts';
import { type Bookable, readBookable } from './calendar-rules.ts';
import { holidaysNear } from './holidays.ts';
import { readOccupied } from './occupied-times.ts';

/** The last allowed day of the published interface. */
const publishedName = 'longestEnd';

interface ShownSlot {
  /** RFC 3339, with the offset of the requested zone. */
  start: string;
  end: string;
  available: boolean;
}

/** Maximum number of times in one answer: a week of times of one minute has as many. */
const maxSlots = 10_000;

/** The refusal of days that have more times than that. @param first the first time that is too many */
function tooManySlots(first: Slot, timezone: string): AppError {
  const day = new ZoneClock(timezone, { startsAt: first.startsAt, endsAt: first.endsAt }).dayAt(first.startsAt);
  const latestEnd = writeDay(day - 1);
  const count = maxSlots.toLocaleString('en-US');
  const errors = [{ path: 'end', message: `Expected at most ${count} times. Ask for days up to ${latestEnd}.` }];
  return new AppError('validation_error', 'The request is not valid.', {
    errors,
    [publishedName]: latestEnd,
    slots: maxSlots,
  });
}

/**
 * The times of an event type on some days of a zone, in order. The read data grows with the days.
 * @param id in either form
 * @throws AppError validation_error with path end for too many days or times, not_found
 */
export async function findAvailability(
  scope: Scope,
  id: string,
  { start, end, timezone }: { start: string; end: string; timezone: string },
): Promise<ShownSlot[]> {
  const days = readDayRange(start, end);
  if ('problems' in days) throw invalid(days.problems);
  const bookable = await readBookable(scope, id);
  if (!bookable.eventType.isActive) return [];
  const found: Slot[][] = [];
  let count = 0;
  const query = { range: days.range, timezone };
  for await (const page of walkAvailability(scope, bookable, query, { now: clock.now() })) {
    const left = maxSlots - count;
    if (page.length > left) throw tooManySlots(page[left]!, timezone);
    count += page.length;
    found.push(page);
  }
  // Written at the end: refused slots need no texts.
  const shown: ShownSlot[] = [];
  for (const page of found) {
    for (const slot of writeSlots(page, timezone)) shown.push(slot);
    await yieldToEventLoop();
  }
  return shown;
}

/** Days are read together while they have no more times of the grid than this, and so no more occupied times between. */
const timesOfPortion = 5_000;
const minutesOfDay = 24 * 60;

function* portionsOf({ from, to }: DayRange, duration: number): Generator<DayRange> {
  const days = Math.max(1, Math.floor((timesOfPortion * duration) / minutesOfDay));
  for (let day = from; day <= to; day += days) yield { from: day, to: Math.min(day + days - 1, to) };
}

/**
 * The same, not yet written, in pages: between two of them the work pauses for other requests.
 * @param except the booking that is to be moved, whose length and buffers are those of the event type here
 */
export async function* walkAvailability(
  scope: Scope,
  bookable: Bookable,
  query: SlotQuery,
  { now, except = null }: { now: number; except?: string | null },
): AsyncGenerator<Slot[]> {
  const { eventType, rules } = bookable;
  for (const range of portionsOf(query.range, eventType.duration)) {
    const portion = { ...query, range };
    const occupied = await readOccupied(scope, bookable, readsForSlots(rules, eventType, portion, now), except);
    const holidays = await holidaysNear(rules, [holidayDaysForSlots(portion)], now);
    for (const page of walkSlots({ now, rules, eventType, occupied, holidays }, portion)) {
      yield page;
      await yieldToEventLoop();
    }
  }
}

/**
 * The bookings that the limits still allow on a day of the host. @param id in either form. @throws AppError not_found
 */
export async function checkLimits(
  scope: Scope,
  id: string,
  date: string,
): Promise<{ allowed: boolean; remaining: Remaining }> {
  const bookable = await readBookable(scope, id);
  const day = dayNumber(date);
  const occupied = await readOccupied(scope, bookable, readsForCheck(bookable.rules, day));
  return remainingBookings(bookable.rules, day, occupied);
}
