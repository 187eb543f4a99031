import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { type Bookable, readBookable } from '../availability/calendar-rules.ts';
import { holidaysNear } from '../availability/holidays.ts';
import { readOccupied } from '../availability/occupied-times.ts';
import { minuteMs } from '../core/calendar-date.ts';
import { decideBooking } from '../core/decide.ts';
import type { BookingFacts, BookingSource } from '../core/events.ts';
import type { Occupied } from '../core/occupied.ts';
import { readInstant } from '../core/read-times.ts';
import { holidayDaysForBooking, readsForBooking } from '../core/reads.ts';
import { type Refusal, type RefusalCode, refusalDetails } from '../core/refusals.ts';
import type { EventTypeRules } from '../core/rules.ts';
import type { BookedLocation } from '../entities.ts';
import { schedulingErrors } from '../errors.ts';
import { checkResponses, chooseLocation, type NewBooking } from './booking-input.ts';
import type { BookingView } from './booking-view.ts';

/** A time of an event type, in milliseconds. */
interface Time {
  startsAt: number;
  endsAt: number;
}

const messages: Record<RefusalCode, string> = {
  notice_too_short: 'The time is in the past, or too soon.',
  too_far_advance: 'The time is too far ahead.',
  blackout_period: 'The time is in a blackout period.',
  outside_availability: 'The time is not open.',
  slot_unavailable: 'The time is taken.',
  buffer_conflict: 'The time is too close to another booking.',
  booking_limit_reached: 'A limit on bookings is reached.',
};

/** The failure with the reason why a time cannot be booked. */
const refused = (refusal: Refusal): AppError =>
  new AppError(schedulingErrors[refusal.code], messages[refusal.code], refusalDetails(refusal), {
    code: refusal.code,
  });

/**
 * Checks a time by every rule.
 * @param occupied what was read for it
 * @throws AppError as `refused` makes it
 */
export async function checkAgainst(
  { rules, eventType }: Bookable,
  startsAt: number,
  occupied: Occupied,
  now: number,
): Promise<void> {
  const holidays = await holidaysNear(rules, [holidayDaysForBooking(startsAt)], now);
  const refusal = decideBooking({ now, rules, eventType, occupied, holidays }, startsAt);
  if (refusal) throw refused(refusal);
}

/** The same, and reads the occupied times. @param except the booking that is being moved */
export async function checkTime(
  scope: Scope,
  bookable: Bookable,
  startsAt: number,
  except: string | null = null,
): Promise<void> {
  const now = clock.now();
  const reads = readsForBooking(bookable.rules, bookable.eventType, startsAt);
  await checkAgainst(bookable, startsAt, await readOccupied(scope, bookable, reads, except), now);
}

/** The time that a booking holds: its own with both buffers. */
export const holdOf = ({ startsAt, endsAt }: Time, { bufferBefore, bufferAfter }: EventTypeRules) => ({
  holdStartAt: new Date(startsAt - bufferBefore * minuteMs),
  holdEndAt: new Date(endsAt + bufferAfter * minuteMs),
});

export const isoTimes = (start: Date, end: Date) => ({ start: start.toISOString(), end: end.toISOString() });

/** The data of a booking in its events. */
export const factsOf = (booking: BookingView, reason: string | null, source: BookingSource): BookingFacts => ({
  bookingId: booking.id,
  eventTypeId: booking.eventTypeId,
  hostId: booking.hostId,
  status: booking.status,
  start: booking.start.toISOString(),
  end: booking.end.toISOString(),
  attendee: booking.attendee,
  location: booking.location,
  responses: booking.responses,
  metadata: booking.metadata,
  reason,
  source,
});

interface BookableTime {
  eventTypeId: string;
  start: Date;
  end: Date;
  location: BookedLocation | null;
}

/** A requested booking, with the rules that it is checked by. */
export interface Prepared extends Time {
  bookable: Bookable;
  place: BookedLocation | null;
}

/** @throws AppError validation_error */
export function prepareBooking(bookable: Bookable, { start, responses, location }: NewBooking): Prepared {
  const place = chooseLocation(bookable.locations, location);
  checkResponses(bookable.questions, responses);
  const startsAt = readInstant(start)!;
  return { bookable, place, startsAt, endsAt: startsAt + bookable.eventType.duration * minuteMs };
}

/** Makes every check of a booking, and no booking. @throws AppError as `createBooking` does */
export async function tryBooking(scope: Scope, input: NewBooking): Promise<BookableTime> {
  const { bookable, place, startsAt, endsAt } = prepareBooking(await readBookable(scope, input.eventTypeId), input);
  await checkTime(scope, bookable, startsAt);
  return { eventTypeId: bookable.eventTypeId, start: new Date(startsAt), end: new Date(endsAt), location: place };
}
