import type { Page } from '../../src/platform/database/page.ts';
import type { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import { type BookingView, bookingRecord } from '../../src/scheduling/bookings/booking-view.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { ApiContext } from '../context.ts';
import { fitAnswer, referred } from '../fit-answer.ts';
import { paginationOf } from '../schemas/pagination.ts';
import type { BookingListA, BookingListB } from '../schemas/scheduling/booking.ts';

type ListOf = (pages: BookingPages, page: Page<BookingView>) => BookingListA | BookingListB;

type Shown = ReturnType<typeof bookingRecord>;

const all = (pages: BookingPages, items: BookingView[]): Shown[] =>
  items.map((booking) => bookingRecord(pages, booking));

/** The callers' data of bookings, which a reference to the booking can replace. */
const attachedTo = (booking: Shown) => {
  const reference = (bytes: number) => ({ $ref: `/api/v1/scheduling/bookings/${booking.id}`, bytes });
  return [...referred(booking, 'responses', reference), ...referred(booking, 'metadata', reference)];
};

const fitBookings = <Answer extends { bookings: Shown[] }>(answer: Answer): Answer =>
  fitAnswer(answer, () => answer.bookings.flatMap(attachedTo));

/** A page of bookings in each dialect. */
const bookingLists: Record<Variant, ListOf> = {
  A: (pages, page) => fitBookings({ bookings: all(pages, page.items), pagination: paginationOf(page) }),
  B: (pages, { items, total, limit, offset }) => fitBookings({ bookings: all(pages, items), total, limit, offset }),
};

export const bookingList = (c: ApiContext, pages: BookingPages, page: Page<BookingView>) =>
  bookingLists[c.get('dialect').variant](pages, page);
