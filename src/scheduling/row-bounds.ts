import type { RowBounds } from '../platform/database/row-bound.ts';
import { maxCalendarsOfHost } from './calendars/calendars.ts';
import { maxEvents } from './calendars/pull-calendar.ts';

const withBooking = {
  removedWith: { table: 'booking', by: ['booking.remove_old'] },
  purge: { with: 'booking', column: 'booking_id' },
} as const;
const withCalendar = {
  removedWith: { table: 'calendar', by: 'foreign key' },
  purge: { with: 'calendar', column: 'calendar_id' },
} as const;
const deletedSettings = {
  by: 'remove deleted event types and hosts',
  after: 'its deletion and the last of its bookings',
};

/** How the rows of scheduling are bounded. */
export const schedulingRowBounds: RowBounds = {
  booking: {
    retention: { by: 'remove bookings after their retention', after: 'the days of the plan from the end of its time' },
  },
  booking_effect: withBooking,
  calendar_entry: withBooking,
  left_calendar_entry: withCalendar,
  calendar: { max: { rows: maxCalendarsOfHost, of: 'scheduling_host' } },
  // A second generation is there while a baseline is read.
  calendar_busy: { max: { rows: 2 * maxEvents, of: 'calendar' }, ...withCalendar },
  sandbox_calendar_event: withCalendar,
  sandbox_calendar: withCalendar,
  scheduling_event_type: { max: { plan: 'eventTypes' }, retention: deletedSettings },
  recurring_pattern: { max: { plan: 'recurringPatterns' } },
  blackout_period: { max: { plan: 'blackoutPeriods' } },
  scheduling_settings: { max: { rows: 1, of: 'environment' } },
  scheduling_host: { max: { plan: 'hosts' }, retention: deletedSettings },
};
