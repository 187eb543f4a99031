import type { IdempotencyClaim, Once } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { publishEvent } from '../webhooks/publish-event.ts';
import { checkResponses, chooseLocation } from './booking-input.ts';
import type { BookingPages } from './booking-pages.ts';
import { type BookingServices, inBookingTurn, takeHost } from './booking-turns.ts';
import { type Attendee, type BookingView, viewOf } from './booking-view.ts';
import { type Bookable, readBookable } from './calendar-rules.ts';
import { minuteMs } from './core/calendar-date.ts';
import { decideBooking } from './core/decide.ts';
import { wantsLink } from './core/effects.ts';
import { type BookingFacts, type BookingSource, bookingCreated } from './core/events.ts';
import { readInstant } from './core/read-times.ts';
import { holidayDaysForBooking, readsForBooking } from './core/reads.ts';
import type { EventTypeRules } from './core/rules.ts';
import { enqueueEffects } from './effects/enqueue-effects.ts';
import { type BookedLocation, Booking } from './entities.ts';
import { holidaysNear } from './holidays.ts';
import { refused } from './refuse.ts';
import { readTaken } from './taken.ts';

export interface NewBooking {
  eventTypeId: string;
  /** RFC 3339, in whole minutes. */
  start: string;
  attendee: Attendee;
  responses: Record<string, unknown>;
  metadata: Record<string, unknown>;
  /** The type of one of the event type's locations. */
  location: string | undefined;
}

/** A time of an event type, in milliseconds. */
export interface Time {
  startsAt: number;
  endsAt: number;
}

/** Checks a time by every rule. @param except the booking that is being moved. @throws AppError as `refused` makes it */
export async function checkTime(
  scope: Scope,
  bookable: Bookable,
  startsAt: number,
  except: string | null = null,
): Promise<void> {
  const { rules, eventType } = bookable;
  const now = Date.now();
  const taken = await readTaken(scope, bookable, readsForBooking(rules, eventType, startsAt), except);
  const holidays = await holidaysNear(rules, [holidayDaysForBooking(startsAt)], now);
  const refusal = decideBooking({ now, rules, eventType, taken, holidays }, startsAt);
  if (refusal) throw refused(refusal);
}

/** The time that a booking holds: its own with both buffers. */
const holdOf = ({ startsAt, endsAt }: Time, { bufferBefore, bufferAfter }: EventTypeRules) => ({
  holdStartAt: new Date(startsAt - bufferBefore * minuteMs),
  holdEndAt: new Date(endsAt + bufferAfter * minuteMs),
});

export const isoTimes = (start: Date, end: Date) => ({ start: start.toISOString(), end: end.toISOString() });

/** What an event tells of a booking. */
export const factsOf = (booking: BookingView, reason: string | null, source: BookingSource): BookingFacts => ({
  ...{ bookingId: booking.id, eventTypeId: booking.eventTypeId, status: booking.status },
  ...{ start: booking.start.toISOString(), end: booking.end.toISOString() },
  ...{ attendee: booking.attendee, location: booking.location },
  ...{ responses: booking.responses, metadata: booking.metadata, reason, source },
});

export interface BookableTime {
  eventTypeId: string;
  start: Date;
  end: Date;
  location: BookedLocation | null;
}

async function prepare(scope: Scope, { eventTypeId, start, responses, location }: NewBooking) {
  const bookable = await readBookable(scope, eventTypeId);
  const place = chooseLocation(bookable.locations, location);
  checkResponses(bookable.questions, responses);
  const startsAt = readInstant(start)!;
  return { bookable, place, startsAt, endsAt: startsAt + bookable.eventType.duration * minuteMs };
}

/** Makes every check of a booking, and no booking. @throws AppError as `createBooking` does */
export async function tryBooking(scope: Scope, input: NewBooking): Promise<BookableTime> {
  const { bookable, place, startsAt, endsAt } = await prepare(scope, input);
  await checkTime(scope, bookable, startsAt);
  return { eventTypeId: bookable.eventTypeId, start: new Date(startsAt), end: new Date(endsAt), location: place };
}

/**
 * Books a time, once per Idempotency-Key; a refusal does not use the key up. Bookings of one host take turns, so that
 * limits hold too; the constraint on holds is what no mistake gets past.
 * @throws AppError validation_error, not_found, idempotency_key_reused, and the codes of `schedulingErrors`
 */
export async function createBooking(
  services: BookingServices & { bookingPages: BookingPages },
  scope: Scope,
  input: NewBooking,
  claim?: IdempotencyClaim,
): Promise<Once<BookingView>> {
  const create = async (tx: Transaction): Promise<BookingView> => {
    const { bookable, place, ...time } = await prepare(tx, input);
    await takeHost(tx, bookable.hostId);
    await checkTime(tx, bookable, time.startsAt);
    const [id, now] = [newId(), new Date()];
    const { attendee } = input;
    const made = tx.em.create(Booking, {
      ...{
        id,
        token: services.bookingPages.tokenOf(id),
        ...scope.tenant,
        eventTypeId: bookable.eventTypeId,
        hostId: bookable.hostId,
      },
      ...{ status: 'confirmed', startAt: new Date(time.startsAt), endAt: new Date(time.endsAt) },
      ...holdOf(time, bookable.eventType),
      ...{ attendeeName: attendee.name, attendeeEmail: attendee.email },
      ...{ attendeePhone: attendee.phone, attendeeTimezone: attendee.timezone },
      ...{ location: place, responses: input.responses, metadata: input.metadata },
      ...{ previousStartAt: null, previousEndAt: null, rescheduleReason: null, rescheduleCount: 0 },
      ...{ cancelledAt: null, cancellationReason: null, correlationId: scope.correlationId },
      ...{ createdAt: now, updatedAt: now },
    });
    tx.em.persist(made);
    const effects = await enqueueEffects(
      tx,
      { id, version: 0 },
      {
        ...{ now, status: 'confirmed', notifyAttendee: true, wantsLink: wantsLink(place, bookable.locations) },
        ...{ reminders: bookable.reminders, timeScale: services.effectTimeScale },
        facts: {
          ...isoTimes(made.startAt, made.endAt),
          ...{ occasion: 'confirmed', previousStart: null, reason: null },
        },
      },
    );
    const booking = viewOf(made, effects);
    await publishEvent(tx, bookingCreated, booking.id, factsOf(booking, null, 'api'));
    return booking;
  };
  return inBookingTurn(services, scope, input, () => scope.transaction(create, { claim }));
}
