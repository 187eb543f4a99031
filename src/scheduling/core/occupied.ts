import type { Interval } from './intervals.ts';

/** A booking that is confirmed or pending. Milliseconds since the epoch; ends are not included. */
export interface Booked {
  startsAt: number;
  endsAt: number;
  /** With the buffers from its creation. */
  holdStartsAt: number;
  holdEndsAt: number;
}

/**
 * The occupied times, without the booking that is being moved. They include at least the range of `readsForSlots` or
 * `readsForBooking`, in any order; more does no harm.
 */
export interface Occupied {
  /** The host's bookings of all event types. */
  bookings: readonly Booked[];
  /** The starts of the bookings of this event type, for the limits of a day, a week and a month. */
  counted: readonly number[];
  /** Busy times of the host's connected calendars; they may overlap. */
  busy: readonly Interval[];
}

/** The same with a booking more of the host. @param isCounted whether it is of the event type that the limits count */
export const includeBooked = ({ bookings, counted, busy }: Occupied, booked: Booked, isCounted: boolean): Occupied => ({
  bookings: [...bookings, booked],
  counted: isCounted ? [...counted, booked.startsAt] : counted,
  busy,
});
