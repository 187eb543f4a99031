import type { Page } from '../../src/platform/database/page.ts';
import { bookingRecord } from '../../src/scheduling/booking-record.ts';
import type { BookingPages } from '../../src/scheduling/bookings/booking-pages.ts';
import type { BookingView } from '../../src/scheduling/bookings/booking-view.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import type { ApiContext } from '../context.ts';
import { paginationOf } from '../schemas/pagination.ts';
import type { BookingListA, BookingListB } from '../schemas/scheduling/booking.ts';

type ListOf = (pages: BookingPages, page: Page<BookingView>) => BookingListA | BookingListB;

const all = (pages: BookingPages, items: BookingView[]) => items.map((booking) => bookingRecord(pages, booking));

/** A page of bookings in each dialect. */
export const bookingLists: Record<Variant, ListOf> = {
  A: (pages, page) => ({ bookings: all(pages, page.items), pagination: paginationOf(page) }),
  B: (pages, { items, total, limit, offset }) => ({ bookings: all(pages, items), total, limit, offset }),
};

export const bookingList = (c: ApiContext, pages: BookingPages, page: Page<BookingView>) =>
  bookingLists[c.get('dialect').variant](pages, page);
