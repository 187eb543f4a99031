import type { Interval } from './intervals.ts';

/** A booking that is confirmed or pending. Milliseconds since the epoch; ends are not included. */
export interface Booked {
  startsAt: number;
  endsAt: number;
  /** With the buffers from its creation. */
  holdStartsAt: number;
  holdEndsAt: number;
}

/** One booking, or several with no time between them that could be free: they are read as one. */
export interface BookedBlock extends Booked {
  /** The number of its bookings that form a run with the first one, and with the last one. */
  firstRun: number;
  lastRun: number;
  /** Whether all of them form one run. */
  isOneRun: boolean;
}

/** A block of one booking. */
export const blockOf = ({ startsAt, endsAt, holdStartsAt, holdEndsAt }: Booked): BookedBlock => ({
  startsAt,
  endsAt,
  holdStartsAt,
  holdEndsAt,
  firstRun: 1,
  lastRun: 1,
  isOneRun: true,
});

/** Bookings that count for the same days, weeks and months, as far as these were asked for. */
export interface CountedBookings {
  /** A moment in these days, weeks and months. */
  at: number;
  count: number;
}

/**
 * The occupied times, without the booking that is being moved. They include at least the range of `readsForSlots` or
 * `readsForBooking`, in any order; more does no harm.
 */
export interface Occupied {
  /** The host's bookings of all event types. */
  bookings: readonly BookedBlock[];
  /** The bookings of this event type, for the limits of a day, a week and a month. */
  counted: readonly CountedBookings[];
  /** Busy times of the host's connected calendars; they may overlap. */
  busy: readonly Interval[];
}

/** The same with a booking more of the host. @param isCounted whether it is of the event type that the limits count */
export const includeBooked = ({ bookings, counted, busy }: Occupied, booked: Booked, isCounted: boolean): Occupied => ({
  bookings: [...bookings, blockOf(booked)],
  counted: isCounted ? [...counted, { at: booked.startsAt, count: 1 }] : counted,
  busy,
});
