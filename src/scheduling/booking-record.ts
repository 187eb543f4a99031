import type { BookingPages } from './bookings/booking-pages.ts';
import type { BookingView } from './bookings/booking-view.ts';
import { bookingIds, eventTypeIds, hostIds } from './core/ids.ts';

/** A booking, which both dialects write alike. Times are in UTC. */
export function bookingRecord(pages: BookingPages, booking: BookingView) {
  const { id, eventTypeId, status, attendee, location, responses, metadata, rescheduleCount } = booking;
  const time = (name: string, at: Date | null) => at && { [name]: at.toISOString() };
  return {
    id: bookingIds.format(id),
    eventTypeId: eventTypeIds.format(eventTypeId),
    hostId: hostIds.format(booking.hostId),
    status,
    start: booking.start.toISOString(),
    end: booking.end.toISOString(),
    attendee,
    location,
    ...pages.linksOf(booking.token),
    responses,
    metadata,
    rescheduleCount,
    ...time('previousStart', booking.previousStart),
    ...time('previousEnd', booking.previousEnd),
    ...(booking.rescheduleReason !== null && { rescheduleReason: booking.rescheduleReason }),
    ...time('cancelledAt', booking.cancelledAt),
    ...(booking.cancellationReason !== null && { cancellationReason: booking.cancellationReason }),
    effects: booking.effects.map(({ at, ...effect }) => ({ ...effect, at: at.toISOString() })),
    createdAt: booking.createdAt.toISOString(),
    updatedAt: booking.updatedAt.toISOString(),
  };
}
