import type { Scope } from '../../platform/database/scope.ts';

/** The calendars that bookings are written to. Each call may be repeated: a second one changes nothing. */
export interface CalendarEntries {
  /**
   * Writes a booking as it is now into the calendar of its host. `meetingUrl`: the link that the calendar made for it.
   * @throws ProviderFailure
   */
  put(
    scope: Scope,
    booking: { bookingId: string; version: number },
    signal: AbortSignal,
  ): Promise<{ kind: 'written'; meetingUrl: string | null } | { kind: 'no_calendar' }>;
  /** Removes the entry of a booking, if there is one. @throws ProviderFailure */
  remove(
    scope: Scope,
    booking: { bookingId: string },
    signal: AbortSignal,
  ): Promise<{ kind: 'removed' | 'no_calendar' }>;
}
