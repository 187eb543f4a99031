import { defineEvent } from '../../platform/core/event-type.ts';
import type { BookingStatus } from './booking-status.ts';
import { bookingIds, eventTypeIds, hostIds } from './ids.ts';

/** Who made a change: a request to the API, a visitor of a booking's page, or the host's calendar. */
export type BookingSource = 'api' | 'page' | 'calendar';

/** A booking as its events tell it. Ids are UUIDs, times ISO 8601 in UTC. */
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

export interface RescheduledFacts extends BookingFacts {
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

const named = { repeatsType: true };

export const bookingCreated = defineEvent('booking.created', bookingData<BookingFacts>, named);
export const bookingRescheduled = defineEvent('booking.rescheduled', bookingData<RescheduledFacts>, named);
export const bookingCancelled = defineEvent('booking.cancelled', bookingData<BookingFacts>, named);

export const bookingEvents = [bookingCreated, bookingRescheduled, bookingCancelled] as const;
