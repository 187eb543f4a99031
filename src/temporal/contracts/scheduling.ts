import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

/** One id per booking, whose workflow is open until the booking has ended. */
export const bookingWorkflowId = (bookingId: string) => `booking-${bookingId}`;

/** Every duration of the effects of bookings is a value, so that tests run a whole retry schedule in seconds. */
export interface BookingPolicy {
  /** Time limit of one activity, which performs all effects that are due. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /**
   * For an activity that fails unexpectedly. An effect that fails as expected is tried again at the time in its row.
   */
  retry: Omit<RetryProfile, 'maximumAttempts'>;
}

export const defaultBookingPolicy: BookingPolicy = {
  timeoutMs: 120_000,
  heartbeatTimeoutMs: 10_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 60_000 },
};

/** References and small values only: the bookings themselves stay in PostgreSQL. */
export interface FollowBookingArgs extends WorkContext {
  bookingId: string;
  policy: BookingPolicy;
}

export const bookingWorkflows = { followBooking: 'followBooking' } as const;

export interface BookingWorkflows {
  followBooking(args: FollowBookingArgs): Promise<void>;
}

/**
 * Messages that the workflow of a booking accepts. The product sends the first two when the booking's row has changed, and
 * the third when a calendar of its host was connected. Operators send the last one from Temporal's web UI. Arguments are ignored.
 */
export const bookingMessages = {
  rescheduled: 'rescheduled',
  cancelled: 'cancelled',
  calendarConnected: 'calendarConnected',
  retryEffects: 'retryEffects',
} as const;

/**
 * The next action of the workflow of a booking. `wait`: it looks again after so many milliseconds, or when it is
 * signalled. `over`: the booking has ended, and nothing is left to do.
 */
export type BookingProgress = { kind: 'wait'; ms: number; details: string } | { kind: 'over'; details: string };
