import type { RowBounds } from '../platform/database/row-bound.ts';
import { maxCalendarsOfHost } from './calendars/calendars.ts';
import { maxEvents } from './calendars/pull-calendar.ts';

const withCalendar = { removedWith: { table: 'calendar', by: 'foreign key' } } as const;
const deletedSettings = {
  by: 'remove deleted event types and hosts',
  after: 'its deletion and the last of its bookings',
};

/** How the rows of scheduling are bounded. */
export const schedulingRowBounds: RowBounds = {
  scheduling_host: { max: { plan: 'hosts' }, retention: deletedSettings },
  scheduling_settings: { max: { rows: 1, of: 'environment' } },
  scheduling_event_type: { max: { plan: 'eventTypes' }, retention: deletedSettings },
  recurring_pattern: { max: { plan: 'recurringPatterns' } },
  blackout_period: { max: { plan: 'blackoutPeriods' } },
  booking: {
    retention: { by: 'remove bookings after their retention', after: 'the days of the plan from the end of its time' },
  },
  booking_effect: { removedWith: { table: 'booking', by: ['booking.remove_old'] } },
  calendar: { max: { rows: maxCalendarsOfHost, of: 'scheduling_host' } },
  // A second generation is there while a baseline is read.
  calendar_busy: { max: { rows: 2 * maxEvents, of: 'calendar' }, ...withCalendar },
  calendar_entry: { removedWith: { table: 'booking', by: ['booking.remove_old'] } },
  sandbox_calendar: withCalendar,
  sandbox_calendar_event: withCalendar,
};
