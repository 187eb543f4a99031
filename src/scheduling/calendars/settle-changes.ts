import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import type { BookingServices } from '../booking-queues.ts';
import { cancelBooking, rescheduleBooking } from '../change-booking.ts';
import { minuteMs } from '../core/calendar-date.ts';
import type { OutsideChange } from '../core/outside-change.ts';
import { type EntryServices, putBookingEntry } from './entries.ts';

export interface SettleServices extends EntryServices, BookingServices {
  log: Log;
}

interface Changed {
  bookingId: string;
  version: number;
  change: OutsideChange;
  follow: boolean;
  startsAt: Date;
}

/** In one sync; the next one goes on. */
const batchSize = 200;

const find = statement<Changed>(
  'calendar.outside_changes',
  `select e.booking_id as "bookingId", e.version, e.outside_change as change, c.follow_changes as follow,
          b.start_at as "startsAt"
     from calendar_entry e join calendar c on c.id = e.calendar_id join booking b on b.id = e.booking_id
    where e.organization_id = $1 and e.environment = $2 and e.calendar_id = $3 and e.outside_change is not null
    order by e.booking_id limit ${batchSize}`,
);

const settled = statement(
  'calendar.outside_change_settled',
  `update calendar_entry set outside_change = null, starts_at = coalesce($5::timestamptz, starts_at),
          ends_at = coalesce($6::timestamptz, ends_at), is_removed = is_removed or $7
    where organization_id = $1 and environment = $2 and booking_id = $3 and outside_change = $4::jsonb`,
);

/**
 * Changes a booking as its event was changed in the calendar.
 * @returns whether the booking follows; false when its rules do not allow that
 */
async function follow(services: SettleServices, scope: Scope, { bookingId, change, startsAt }: Changed) {
  const as = { reason: null, notifyAttendee: true, source: 'calendar' } as const;
  if (change.kind === 'removed') {
    await cancelBooking(services, scope, bookingId, as);
    return true;
  }
  // A booking keeps its length, and begins on a whole minute.
  if (change.startsAt === startsAt.getTime() || change.startsAt % minuteMs !== 0) return false;
  const newStart = new Date(change.startsAt).toISOString();
  try {
    const moved = await rescheduleBooking(services, scope, bookingId, { newStart, ...as });
    return moved.end.getTime() === change.endsAt;
  } catch (error) {
    if (error instanceof AppError && error.kind !== 'service_unavailable') return false;
    throw error;
  }
}

/**
 * Settles what others did to our events in a calendar: the bookings follow where the calendar says so and their rules allow
 * it, and otherwise the event is written again. What cannot be settled now is left to the next sync.
 */
export async function settleOutsideChanges(
  services: SettleServices,
  scope: Scope,
  calendarId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const changed of await scope.rows(find, calendarId)) {
    signal.throwIfAborted();
    const { bookingId, change } = changed;
    try {
      if (changed.follow && (await follow(services, scope, changed))) {
        const time = change.kind === 'moved' ? [new Date(change.startsAt), new Date(change.endsAt)] : [null, null];
        await scope.rows(settled, bookingId, JSON.stringify(change), ...time, change.kind === 'removed');
      } else await putBookingEntry(services, scope, changed, signal);
    } catch (error) {
      signal.throwIfAborted();
      services.log.warn({ err: error, bookingId, calendarId }, 'a change in a calendar will be settled later');
    }
  }
}
