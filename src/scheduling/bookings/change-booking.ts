import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { publishEvent } from '../../webhooks/index.ts';
import { readBookableOf } from '../availability/calendar-rules.ts';
import { minuteMs } from '../core/calendar-date.ts';
import { versionOf, wantsLink } from '../core/effects.ts';
import { type BookingSource, bookingCancelled, bookingRescheduled } from '../core/events.ts';
import { bookingIds } from '../core/ids.ts';
import { readInstant } from '../core/read-times.ts';
import { type EffectSettings, enqueueEffects } from '../effects/enqueue-effects.ts';
import { Booking } from '../entities.ts';
import { bookingNotFound } from '../errors.ts';
import { type BookingServices, lockHosts, queueMove } from './booking-queues.ts';
import { type BookingView, viewOf, withEffects } from './booking-view.ts';
import { checkTime, factsOf, isoTimes } from './check-booking.ts';

interface Change {
  reason: string | null;
  source: BookingSource;
  /** False: the attendee gets no mail of this change. */
  notifyAttendee: boolean;
}

/** Locks the row, so that concurrent changes are applied one after the other. @throws AppError not_found */
async function lockBooking(em: EntityManager, id: string): Promise<Booking> {
  const uuid = bookingIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const found = uuid && (await em.findOne(Booking, { id: uuid }, { lockMode }));
  if (!found) throw bookingNotFound(id);
  return found;
}

function requireMovable({ status, startAt }: Booking, now: number): void {
  const reason = status === 'cancelled' ? 'cancelled' : startAt.getTime() <= now ? 'started' : undefined;
  if (reason === undefined) return;
  const message = reason === 'cancelled' ? 'The booking is cancelled.' : 'The booking has started.';
  throw new AppError('validation_error', message, { errors: [{ path: '', message }], reason });
}

/** The length and the buffers of the existing booking, in minutes. */
export const bookedWith = ({ startAt, endAt, holdStartAt, holdEndAt }: Booking) => ({
  duration: (endAt.getTime() - startAt.getTime()) / minuteMs,
  bufferBefore: (startAt.getTime() - holdStartAt.getTime()) / minuteMs,
  bufferAfter: (holdEndAt.getTime() - endAt.getTime()) / minuteMs,
});

/**
 * Moves a booking, which keeps its id, its length and its buffers. All other rules are the current ones.
 * @param id in either form
 * @throws AppError not_found; validation_error with the reason `cancelled` or `started`; the codes of `schedulingErrors`
 */
export function rescheduleBooking(
  services: BookingServices,
  scope: Scope,
  id: string,
  { newStart, reason, source, notifyAttendee }: Change & { newStart: string },
): Promise<BookingView> {
  return queueMove(services, scope, newStart, () =>
    scope.transaction(async (tx) => {
      const booking = await lockBooking(tx.em, id);
      const now = clock.date();
      requireMovable(booking, now.getTime());
      const startsAt = readInstant(newStart)!;
      const previous = { start: booking.startAt, end: booking.endAt };
      if (startsAt === previous.start.getTime()) return withEffects(tx, booking);

      const { eventType, ...bookable } = await readBookableOf(tx, booking);
      await lockHosts(tx, [booking.hostId]);
      const kept = bookedWith(booking);
      await checkTime(tx, { ...bookable, eventType: { ...eventType, ...kept } }, startsAt, booking.id);
      const by = startsAt - previous.start.getTime();
      const moved = (at: Date) => new Date(at.getTime() + by);
      Object.assign(booking, {
        startAt: moved(booking.startAt),
        endAt: moved(booking.endAt),
        holdStartAt: moved(booking.holdStartAt),
        holdEndAt: moved(booking.holdEndAt),
        previousStartAt: previous.start,
        previousEndAt: previous.end,
        rescheduleReason: reason,
        rescheduleCount: booking.rescheduleCount + 1,
        updatedAt: now,
      });
      const effects = await enqueueEffects(
        tx,
        { id: booking.id, version: versionOf(booking) },
        {
          now,
          status: 'confirmed',
          notifyAttendee,
          timeScale: services.effectTimeScale,
          reminders: bookable.reminders,
          wantsLink: wantsLink(booking.location ?? null, bookable.locations),
          facts: {
            ...isoTimes(booking.startAt, booking.endAt),
            occasion: 'moved',
            previousStart: previous.start.toISOString(),
            reason,
          },
        },
      );
      const view = viewOf(booking, effects);
      // One of its own for each move.
      await publishEvent(tx, bookingRescheduled, null, {
        ...factsOf(view, reason, source),
        previousStart: previous.start.toISOString(),
        previousEnd: previous.end.toISOString(),
        rescheduleCount: view.rescheduleCount,
      });
      return view;
    }),
  );
}

/** Cancels a booking. A cancelled one stays as it is. @param id in either form. @throws AppError not_found */
export function cancelBooking(
  services: EffectSettings,
  scope: Scope,
  id: string,
  { reason, source, notifyAttendee }: Change,
): Promise<BookingView> {
  return scope.transaction(async (tx) => {
    const booking = await lockBooking(tx.em, id);
    if (booking.status === 'cancelled') return withEffects(tx, booking);
    const now = clock.date();
    Object.assign(booking, { status: 'cancelled', cancelledAt: now, cancellationReason: reason, updatedAt: now });
    const effects = await enqueueEffects(
      tx,
      { id: booking.id, version: versionOf(booking) },
      {
        now,
        status: 'cancelled',
        notifyAttendee,
        wantsLink: false,
        reminders: [],
        timeScale: services.effectTimeScale,
        facts: { ...isoTimes(booking.startAt, booking.endAt), occasion: 'cancelled', previousStart: null, reason },
      },
    );
    const view = viewOf(booking, effects);
    await publishEvent(tx, bookingCancelled, view.id, factsOf(view, reason, source));
    return view;
  });
}
