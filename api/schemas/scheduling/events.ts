import { z } from '@hono/zod-openapi';
import {
  type BookingFacts,
  bookingCancelled,
  bookingCreated,
  bookingRescheduled,
  type RescheduledFacts,
} from '../../../src/scheduling/core/events.ts';
import { freeForm } from '../free-form.ts';
import { documentEvent } from '../webhooks/event.ts';
import { bookingSchema } from './booking.ts';

const { id, eventTypeId, hostId, start, end, attendee, location } = bookingSchema.shape;
const data = (status: string) =>
  z.object({
    id,
    eventTypeId,
    hostId,
    status: z.literal(status),
    start,
    end,
    attendee,
    location,
    responses: freeForm,
    metadata: freeForm,
    reason: z.string().nullable().openapi({ description: 'Of the change, where one was given.' }),
    source: z.enum(['api', 'page', 'calendar']),
  });

const facts: BookingFacts = {
  bookingId: '0199aaaa-bbbb-7ccc-8ddd-444455556666',
  eventTypeId: '0199aaaa-bbbb-7ccc-8ddd-111122223333',
  hostId: '0199aaaa-bbbb-7ccc-8ddd-777788889999',
  status: 'confirmed',
  start: '2030-06-12T09:00:00.000Z',
  end: '2030-06-12T09:30:00.000Z',
  attendee: { name: 'Grace Hopper', email: 'grace@example.com', phone: null, timezone: 'America/New_York' },
  location: { type: 'phone', url: 'tel:+49301234567' },
  responses: {},
  metadata: {},
  reason: null,
  source: 'api',
};
const moved: RescheduledFacts = {
  ...facts,
  start: '2030-06-13T13:00:00.000Z',
  end: '2030-06-13T13:30:00.000Z',
  reason: 'A clash.',
  previousStart: facts.start,
  previousEnd: facts.end,
  rescheduleCount: 1,
};

export const bookingEventDocuments = [
  documentEvent(bookingCreated, 'A booking was made', data('confirmed'), facts),
  documentEvent(
    bookingRescheduled,
    'A booking was moved',
    data('confirmed').extend({ previousStart: start, previousEnd: end, rescheduleCount: z.int() }),
    moved,
  ),
  documentEvent(bookingCancelled, 'A booking was cancelled', data('cancelled'), { ...facts, status: 'cancelled' }),
];
