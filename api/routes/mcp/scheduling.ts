import { z } from '@hono/zod-openapi';
import { findAvailability } from '../../../src/scheduling/availability/availability.ts';
import { readBooking } from '../../../src/scheduling/bookings/booking-input.ts';
import { bookingRecord } from '../../../src/scheduling/bookings/booking-view.ts';
import { createBooking } from '../../../src/scheduling/bookings/create-booking.ts';
import { availabilityQuery, newBookingSchema } from '../../schemas/scheduling/booking.ts';
import { jsonResult } from './results.ts';
import { claimOf, defineTool } from './tool.ts';

/** More times are of no use to who chooses one. */
const maxTimes = 500;

export const schedulingTools = [
  defineTool({
    name: 'find_times',
    title: 'Find times to book',
    description: `Returns the times of an event type that can be booked now: at most ${maxTimes}. \`hasMore\` says that there are more.`,
    scope: 'scheduling',
    args: z.object(availabilityQuery.shape),
    annotations: { readOnlyHint: true },
    async perform({ scope }, { eventTypeId, start, end, timezone = 'UTC' }) {
      const slots = await findAvailability(scope, eventTypeId, { start, end, timezone });
      const free = slots.filter(({ available }) => available).map((slot) => ({ start: slot.start, end: slot.end }));
      return jsonResult({ times: free.slice(0, maxTimes), hasMore: free.length > maxTimes, timezone });
    },
  }),
  defineTool({
    name: 'book_time',
    title: 'Book a time',
    description:
      'Books a time of an event type for an attendee, who gets a mail. A time that is taken or not allowed is refused with its reason.',
    scope: 'scheduling',
    args: newBookingSchema,
    annotations: { readOnlyHint: false, destructiveHint: false },
    async perform(call, args) {
      const { services, scope } = call;
      const { outcome } = await createBooking(services, scope, readBooking(args), claimOf(call));
      return jsonResult(bookingRecord(services.bookingPages, outcome));
    },
  }),
];
