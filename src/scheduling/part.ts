import type { ConnectionServices } from '../connections/index.ts';
import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/parts/part.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import { BookingPages } from './bookings/booking-pages.ts';
import { BookingQueues, type BookingServices } from './bookings/booking-queues.ts';
import { PublicPages } from './bookings/public-pages.ts';
import {
  Calendar,
  CalendarBusy,
  CalendarEntry,
  LeftCalendarEntry,
  SandboxCalendar,
  SandboxCalendarEvent,
} from './calendars/calendar-entities.ts';
import { endCalendars } from './calendars/end-tenant.ts';
import {
  type CalendarServices,
  calendarOutbox,
  calendarSweeps,
  closeCalendars,
  openCalendars,
} from './calendars/services.ts';
import { calendarSettings } from './calendars/settings.ts';
import { bookingStates } from './core/booking-status.ts';
import { effectStates } from './core/effect-status.ts';
import { blackoutIds, bookingIds, calendarIds, eventTypeIds, hostIds, patternIds } from './core/ids.ts';
import { schedulingDeclarations } from './declarations.ts';
import { BookingEffect } from './effects/effect-entities.ts';
import { type EffectServices, effectOutbox, effectSweeps, openEffects } from './effects/services.ts';
import {
  BlackoutPeriod,
  Booking,
  RecurringPattern,
  SchedulingEventType,
  SchedulingHost,
  SchedulingSettings,
} from './entities.ts';
import { schedulingErrors } from './errors.ts';
import { failPoint } from './fail-points.ts';
import { schedulingGauges } from './gauges.ts';
import { removeDeletedSettings, removeOldBookings } from './retention.ts';
import { schedulingRowBounds } from './row-bounds.ts';
import { bookingStep } from './steps.ts';

const hourMs = 3_600_000;

/** Event types, availability and bookings. */
export const scheduling: Part<
  Foundation & TenancyServices & ConnectionServices,
  BookingServices & CalendarServices & EffectServices & { bookingPages: BookingPages; publicPages: PublicPages },
  typeof calendarSettings.shape
> = {
  ...schedulingDeclarations,
  states: { 'A booking': bookingStates, 'An effect of a booking': effectStates },
  settings: calendarSettings,
  entities: [
    SchedulingHost,
    SchedulingSettings,
    SchedulingEventType,
    RecurringPattern,
    BlackoutPeriod,
    Booking,
    BookingEffect,
    Calendar,
    CalendarBusy,
    CalendarEntry,
    LeftCalendarEntry,
    SandboxCalendar,
    SandboxCalendarEvent,
  ],
  rowBounds: schedulingRowBounds,
  ids: [eventTypeIds, bookingIds, hostIds, patternIds, blackoutIds, calendarIds],
  errors: schedulingErrors,
  failPoints: failPoint.names,
  stepKinds: [bookingStep],
  promptKinds: ['calendar.sync'],
  open(base) {
    base.tenantEnds.on((scope) => endCalendars(base, scope));
    const calendars = openCalendars(base);
    const bookingPages = new BookingPages(base.env.URL_SIGNING_KEY, base.env.PUBLIC_URL);
    return {
      bookingQueues: new BookingQueues(),
      bookingPages,
      publicPages: new PublicPages(base.env.URL_SIGNING_KEY, base.env.PUBLIC_URL),
      ...calendars,
      ...openEffects(base.env, { ...calendars, bookingPages }),
    };
  },
  outbox: (services) => ({ ...calendarOutbox(services), ...effectOutbox(services) }),
  gauges: ({ observer }) => schedulingGauges(observer),
  sweeps: (services) => [
    ...calendarSweeps(services),
    ...effectSweeps(services),
    {
      name: 'remove bookings after their retention',
      everyMs: hourMs,
      run: () => removeOldBookings(services.database),
    },
    {
      name: 'remove deleted event types and hosts',
      everyMs: hourMs,
      run: () => removeDeletedSettings(services.database),
    },
  ],
  close: closeCalendars,
};
