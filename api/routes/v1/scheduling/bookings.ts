import type { OpenAPIHono } from '@hono/zod-openapi';
import { readBooking } from '../../../../src/scheduling/bookings/booking-input.ts';
import { bookingRecord, getBooking, listBookings } from '../../../../src/scheduling/bookings/booking-view.ts';
import { cancelBooking, rescheduleBooking } from '../../../../src/scheduling/bookings/change-booking.ts';
import { tryBooking } from '../../../../src/scheduling/bookings/check-booking.ts';
import { createBooking } from '../../../../src/scheduling/bookings/create-booking.ts';
import { eventTypeIds } from '../../../../src/scheduling/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { bookingList } from '../../../dialects/scheduling.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import { withPageDefaults } from '../../../schemas/pagination.ts';
import {
  bookablePlaceSchema,
  bookingInPath,
  bookingListQuery,
  bookingListSchema,
  bookingSchema,
  cancellationSchema,
  dryRunQuery,
  newBookingSchema,
  rescheduleSchema,
} from '../../../schemas/scheduling/booking.ts';
import {
  bookableExamples,
  bookingExamples,
  bookingListExamples,
  cancellationExamples,
  cancelledExamples,
  newBookingExamples,
  rescheduledExamples,
  rescheduleExamples,
} from '../../../schemas/scheduling/booking-examples.ts';
import { bookingFailures } from '../../../schemas/scheduling/failures.ts';

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getBooking', parameters: withThisId },
  Reschedule: { operationId: 'rescheduleBooking', parameters: withThisId },
  Cancel: { operationId: 'cancelBooking', parameters: withThisId },
};

export function bookingRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'scheduling');
  const { bookingPages: pages } = services;

  const operation = operationsOf({ tag: 'Scheduling', key });

  const create = operation({
    method: 'post',
    path: '/bookings',
    operationId: 'createBooking',
    'x-client-method': 'scheduling.bookings.create',
    summary: 'Book a time',
    description: [
      'A time that the rules never allow is answered with 422, one that conflicts with an existing booking with 409: see',
      '`details.reason`. Any start is accepted whose whole time is open, not only those of `GET /availability`. A refusal',
      'does not use up the Idempotency-Key.',
    ].join(' '),
    query: dryRunQuery,
    body: jsonContent(newBookingSchema, newBookingExamples),
    idempotent: true,
    answers: {
      200: answer('The time can be booked. Nothing was, because `dryRun` was true.', bookablePlaceSchema, {
        examples: bookableExamples,
        replayable: true,
      }),
      201: answer('Returns the booking.', bookingSchema, { examples: bookingExamples, links, replayable: true }),
      ...bookingFailures,
    },
    failures: [404],
  });
  const get = operation({
    method: 'get',
    path: '/bookings/{id}',
    operationId: 'getBooking',
    'x-client-method': 'scheduling.bookings.get',
    summary: 'Retrieve a booking',
    description: 'Returns the booking.',
    params: bookingInPath,
    answers: { 200: answer('Returns the booking.', bookingSchema, { examples: bookingExamples, links }) },
  });
  const list = operation({
    method: 'get',
    path: '/bookings',
    operationId: 'listBookings',
    'x-client-method': 'scheduling.bookings.list',
    summary: 'List bookings',
    description:
      'Ordered by start. Where the answer would have more than 2 MiB, the largest `responses` and `metadata` are `{"$ref", "bytes"}`: `$ref` is the path of their booking.',
    query: bookingListQuery,
    answers: { 200: answer('A page of bookings.', bookingListSchema, { examples: bookingListExamples }) },
  });
  const reschedule = operation({
    method: 'patch',
    path: '/bookings/{id}/reschedule',
    operationId: 'rescheduleBooking',
    'x-client-method': 'scheduling.bookings.reschedule',
    summary: 'Move a booking',
    description: [
      'The booking keeps its id, its length and its buffers, and the new time is checked as that of a new booking. A booking that is',
      'cancelled or has started is answered with 400; `details.reason` is `cancelled` or `started`. Rescheduling to the',
      'current time is a no-op.',
    ].join(' '),
    params: bookingInPath,
    body: jsonContent(rescheduleSchema, rescheduleExamples),
    answers: {
      200: answer('Returns the booking.', bookingSchema, { examples: rescheduledExamples, links }),
      ...bookingFailures,
    },
  });
  const cancel = operation({
    method: 'delete',
    path: '/bookings/{id}',
    operationId: 'cancelBooking',
    'x-client-method': 'scheduling.bookings.delete',
    summary: 'Cancel a booking',
    description: 'Frees the time of the booking. Cancelling a cancelled booking is a no-op.',
    params: bookingInPath,
    body: jsonContent(cancellationSchema, cancellationExamples),
    bodyIsOptional: true,
    answers: { 200: answer('Returns the booking.', bookingSchema, { examples: cancelledExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(create, async (c) => {
    const input = readBooking(c.req.valid('json'));
    if (c.req.valid('query').dryRun === 'true') {
      const { eventTypeId, start, end, location: place } = await tryBooking(c.get('scope'), input);
      const times = { start: start.toISOString(), end: end.toISOString() };
      return c.json(success({ eventTypeId: eventTypeIds.format(eventTypeId), ...times, location: place }), 200);
    }
    const { outcome, replayed } = await createBooking(services, c.get('scope'), input, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(bookingRecord(pages, outcome)), 201);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(bookingRecord(pages, await getBooking(c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(list, async (c) => {
    const page = await listBookings(c.get('scope'), withPageDefaults(c, c.req.valid('query')));
    return c.json(success(bookingList(c, pages, page)), 200);
  });
  routes.openapi(reschedule, async (c) => {
    const { newStart, reason = null, notifyAttendee = true } = c.req.valid('json');
    const change = { newStart, reason, notifyAttendee, source: 'api' } as const;
    const moved = await rescheduleBooking(services, c.get('scope'), c.req.valid('param').id, change);
    return c.json(success(bookingRecord(pages, moved)), 200);
  });
  routes.openapi(cancel, async (c) => {
    const { reason = null, notifyAttendee = true } = c.req.valid('json');
    const change = { reason, notifyAttendee, source: 'api' } as const;
    const cancelled = await cancelBooking(services, c.get('scope'), c.req.valid('param').id, change);
    return c.json(success(bookingRecord(pages, cancelled)), 200);
  });
  return routes;
}
