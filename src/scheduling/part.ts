import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import { BookingPages } from './booking-pages.ts';
import { type BookingServices, newBookingTurns } from './booking-turns.ts';
import { calendarSettings } from './calendars/settings.ts';
import { bookingEvents } from './core/events.ts';
import { blackoutIds, bookingIds, eventTypeIds, hostIds, patternIds } from './core/ids.ts';
import {
  BlackoutPeriod,
  Booking,
  RecurringPattern,
  SchedulingEventType,
  SchedulingHost,
  SchedulingSettings,
} from './entities.ts';
import { schedulingErrors } from './errors.ts';
import { settingsIds } from './settings.ts';

/** Event types, availability and bookings. */
export const scheduling: Part<
  Foundation,
  BookingServices & { bookingPages: BookingPages },
  typeof calendarSettings.shape
> = {
  name: 'scheduling',
  settings: calendarSettings,
  entities: [SchedulingHost, SchedulingSettings, SchedulingEventType, RecurringPattern, BlackoutPeriod, Booking],
  ids: [eventTypeIds, bookingIds, hostIds, patternIds, blackoutIds],
  errors: schedulingErrors,
  events: bookingEvents,
  auditActions: {
    'event_type.create': eventTypeIds,
    'event_type.update': eventTypeIds,
    'event_type.delete': eventTypeIds,
    'host.create': hostIds,
    'host.update': hostIds,
    'host.delete': hostIds,
    'recurring_pattern.create': patternIds,
    'recurring_pattern.delete': patternIds,
    'blackout_period.create': blackoutIds,
    'blackout_period.delete': blackoutIds,
    'business_hours.update': settingsIds,
    'booking_limits.update': settingsIds,
  },
  open: ({ env }) => ({
    bookingTurns: newBookingTurns(),
    bookingPages: new BookingPages(env.URL_SIGNING_KEY, env.PUBLIC_URL),
  }),
};
