import type { Foundation } from '../../foundation.ts';
import type { PlatformEnv } from '../../platform/env.ts';
import type { OutboxHandlers } from '../../platform/outbox/outbox.ts';
import type { Sweep } from '../../platform/parts/part.ts';
import { type BookingPolicy, defaultBookingPolicy } from '../../temporal/contracts/scheduling.ts';
import type { BookingPages } from '../bookings/booking-pages.ts';
import { calendarWork } from '../calendars/calendars.ts';
import { putBookingEntry, removeBookingEntry } from '../calendars/entries.ts';
import type { CalendarServices } from '../calendars/services.ts';
import { effectRetries } from '../core/effects.ts';
import type { PerformServices } from './attempt.ts';
import { followBooking, lookAtBooking, restoreBookingWorkflows } from './booking-workflows.ts';
import type { EffectSettings } from './enqueue-effects.ts';
import { followWork } from './enqueue-effects.ts';
import { enqueueMissingEntries, lookWork } from './missing-entries.ts';

export interface EffectServices
  extends EffectSettings,
    Pick<PerformServices, 'calendarEntries' | 'effectRetries' | 'mailFrom'> {
  bookingPolicy: BookingPolicy;
}

/** The services for the effects of bookings. */
export function openEffects(
  env: PlatformEnv,
  calendars: CalendarServices & { bookingPages: BookingPages },
): EffectServices {
  const { calendarTimeScale: scale } = calendars;
  const { firstMs, maxMs } = effectRetries;
  return {
    bookingPolicy: defaultBookingPolicy,
    effectTimeScale: scale,
    effectRetries: { firstMs: firstMs * scale, maxMs: maxMs * scale },
    calendarEntries: {
      put: (scope, booking, signal) => putBookingEntry(calendars, scope, booking, signal),
      remove: (scope, booking, signal) => removeBookingEntry(calendars, scope, booking, signal),
    },
    mailFrom: env.MAIL_FROM,
  };
}

export const effectOutbox = (services: EffectServices & Foundation): OutboxHandlers => ({
  [followWork]: (scope, id) => followBooking(services, scope, id),
  [lookWork]: (scope, id) => lookAtBooking(services, scope, id),
  [calendarWork.entries]: (scope, id) => enqueueMissingEntries(scope, id),
});

export const effectSweeps = (services: EffectServices & Foundation): Sweep[] => [
  {
    name: 'restore workflows of bookings that were terminated in Temporal',
    everyMs: 60_000,
    run: restoreBookingWorkflows(services),
  },
];
