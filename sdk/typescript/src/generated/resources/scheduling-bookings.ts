// This file is generated from the OpenAPI document.

import type { RequestOptions } from '../../core/options.ts';
import type { List } from '../../core/pagination.ts';
import { Resource } from '../../core/resource.ts';
import * as sdk from '../api/sdk.gen.ts';
import type * as api from '../api/types.gen.ts';

export class SchedulingBookings extends Resource {
  /**
   * List bookings.
   *
   * Ordered by start. Where the answer would have more than 2 MiB, the largest `responses` and `metadata` are
   * `{"$ref", "bytes"}`: `$ref` is the path of their booking.
   */
  list(query?: api.ListBookingsData['query'], options?: RequestOptions): List<api.Booking> {
    return this.transport.list(sdk.listBookings, { query }, 'bookings', options);
  }

  /**
   * Book a time.
   *
   * A time that the rules never allow is answered with 422, one that conflicts with an existing booking with 409:
   * see `details.reason`. Any start is accepted whose whole time is open, not only those of `GET /availability`.
   * A refusal does not use up the Idempotency-Key.
   */
  create(body: NonNullable<api.CreateBookingData['body']>, options?: RequestOptions & { query?: api.CreateBookingData['query'] }): Promise<api.BookingPreview | api.Booking> {
    return this.transport.call(sdk.createBooking, { body, query: options?.query }, { answer: 'json', isEnveloped: true, isRepeatable: true, takesKey: true }, options);
  }

  /**
   * Retrieve a booking.
   *
   * Returns the booking.
   */
  get(id: string, options?: RequestOptions): Promise<api.Booking> {
    return this.transport.call(sdk.getBooking, { path: { id } }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Cancel a booking.
   *
   * Frees the time of the booking. Cancelling a cancelled booking is a no-op.
   */
  delete(id: string, body?: NonNullable<api.CancelBookingData['body']>, options?: RequestOptions): Promise<api.Booking> {
    return this.transport.call(sdk.cancelBooking, { path: { id }, body }, { answer: 'json', isEnveloped: true, isRepeatable: true }, options);
  }

  /**
   * Move a booking.
   *
   * The booking keeps its id, its length and its buffers, and the new time is checked as that of a new booking. A
   * booking that is cancelled or has started is answered with 400; `details.reason` is `cancelled` or `started`.
   * Rescheduling to the current time is a no-op.
   */
  reschedule(id: string, body: NonNullable<api.RescheduleBookingData['body']>, options?: RequestOptions): Promise<api.Booking> {
    return this.transport.call(sdk.rescheduleBooking, { path: { id }, body }, { answer: 'json', isEnveloped: true }, options);
  }
}
