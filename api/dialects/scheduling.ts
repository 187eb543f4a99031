import type { Page } from '../../src/platform/database/page.ts';
import type { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import type { BookingView } from '../../src/scheduling/bookings/booking-view.ts';
import { bookingIds, eventTypeIds, hostIds } from '../../src/scheduling/core/ids.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { ApiContext } from '../context.ts';
import { paginationOf } from '../schemas/pagination.ts';
import type { BookingAnswer, BookingListA, BookingListB } from '../schemas/scheduling/booking.ts';

/** A booking, which both dialects write alike. Times are in UTC. */
export function bookingAnswer(pages: BookingPages, booking: BookingView): BookingAnswer {
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

type ListOf = (pages: BookingPages, page: Page<BookingView>) => BookingListA | BookingListB;

const all = (pages: BookingPages, items: BookingView[]) => items.map((booking) => bookingAnswer(pages, booking));

/** A page of bookings in each dialect. */
export const bookingLists: Record<Variant, ListOf> = {
  A: (pages, page) => ({ bookings: all(pages, page.items), pagination: paginationOf(page) }),
  B: (pages, { items, total, limit, offset }) => ({ bookings: all(pages, items), total, limit, offset }),
};

export const bookingList = (c: ApiContext, pages: BookingPages, page: Page<BookingView>) =>
  bookingLists[c.get('dialect').variant](pages, page);
