import { defineEvent } from '../../platform/core/event-type.ts';
import { anyObject, integer, object, oneOf, orNull, text, time } from '../../platform/core/json-schema.ts';
import type { BookingStatus } from './booking-status.ts';
import { bookingIds, eventTypeIds, hostIds } from './ids.ts';

/** The source of a change: a request to the API, a visitor of a page, or the host's calendar. */
const bookingSources = ['api', 'page', 'calendar'] as const;
export type BookingSource = (typeof bookingSources)[number];

/** A booking as its events contain it. Ids are UUIDs, times ISO 8601 in UTC. */
export interface BookingFacts {
  bookingId: string;
  eventTypeId: string;
  hostId: string;
  status: BookingStatus;
  start: string;
  end: string;
  attendee: { name: string; email: string; phone: string | null; timezone: string };
  location: { type: string; url: string | null } | null;
  responses: Record<string, unknown>;
  metadata: Record<string, unknown>;
  reason: string | null;
  source: BookingSource;
}

interface RescheduledFacts extends BookingFacts {
  previousStart: string;
  previousEnd: string;
  rescheduleCount: number;
}

const bookingData = <Facts extends BookingFacts>({ bookingId, eventTypeId, hostId, ...facts }: Facts) => ({
  id: bookingIds.format(bookingId),
  eventTypeId: eventTypeIds.format(eventTypeId),
  hostId: hostIds.format(hostId),
  ...facts,
});

const members = (status: BookingStatus) => ({
  id: text('The booking, as `bkg_…`.'),
  eventTypeId: text(),
  hostId: text('The host whose time is booked.'),
  status: oneOf([status]),
  start: time(),
  end: time(),
  attendee: object<BookingFacts['attendee']>({
    name: text(),
    email: text(),
    phone: orNull(text()),
    timezone: text(),
  }),
  location: orNull(object<NonNullable<BookingFacts['location']>>({ type: text(), url: orNull(text()) })),
  responses: anyObject('The answers to the questions of the event type.'),
  metadata: anyObject(),
  reason: orNull(text('The reason for the change, if one was given.')),
  source: oneOf(bookingSources),
});

const example: BookingFacts = {
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
const cancelled: BookingFacts = { ...example, status: 'cancelled' };
const moved: RescheduledFacts = {
  ...example,
  start: '2030-06-13T13:00:00.000Z',
  end: '2030-06-13T13:30:00.000Z',
  reason: 'A clash.',
  previousStart: example.start,
  previousEnd: example.end,
  rescheduleCount: 1,
};

const since = '2026-11-22';

export const bookingCreated = defineEvent({
  type: 'booking.created',
  description: 'A booking was made.',
  since,
  repeatsType: true,
  data: bookingData<BookingFacts>,
  members: members('confirmed'),
  example,
});
export const bookingRescheduled = defineEvent({
  type: 'booking.rescheduled',
  description: 'A booking was moved.',
  since,
  repeatsType: true,
  data: bookingData<RescheduledFacts>,
  members: { ...members('confirmed'), previousStart: time(), previousEnd: time(), rescheduleCount: integer() },
  example: moved,
});
export const bookingCancelled = defineEvent({
  type: 'booking.cancelled',
  description: 'A booking was cancelled.',
  since,
  repeatsType: true,
  data: bookingData<BookingFacts>,
  members: members('cancelled'),
  example: cancelled,
});

export const bookingEvents = [bookingCreated, bookingRescheduled, bookingCancelled] as const;
