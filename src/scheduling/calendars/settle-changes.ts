import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { BookingServices } from '../bookings/booking-queues.ts';
import { cancelBooking, rescheduleBooking } from '../bookings/change-booking.ts';
import type { OutsideChange } from '../core/outside-change.ts';
import { readInstant } from '../core/read-times.ts';
import type { CalendarCall } from './clients/ports.ts';
import { type EntryServices, putBookingEntry } from './entries.ts';
import type { SyncedCalendar } from './sync-state.ts';

export interface SettleServices extends EntryServices, BookingServices {
  log: Log;
}

interface Changed {
  bookingId: string;
  eventId: string;
  version: number;
  change: OutsideChange;
  follow: boolean;
  startsAt: Date;
  rescheduleCount: number;
}

/** Maximum in one sync; the next one continues. */
const batchSize = 200;

// A change that was tried before waits behind the others: changes that can never be settled do not block later ones.
const find = statement({
  name: 'calendar.outside_changes',
  parameters: { calendarId: 'uuid' },
  row: {
    bookingId: 'uuid',
    eventId: 'text',
    version: 'int',
    change: typed<OutsideChange>('jsonb'),
    follow: 'boolean',
    startsAt: 'timestamptz',
    rescheduleCount: 'int',
  },
  text: `select e.booking_id as "bookingId", e.event_id as "eventId", e.version, e.outside_change as change, c.follow_changes as follow,
          b.start_at as "startsAt", b.reschedule_count as "rescheduleCount"
     from calendar_entry e join calendar c on c.id = e.calendar_id join booking b on b.id = e.booking_id
    where e.organization_id = :organizationId and e.environment = :environment and e.calendar_id = :calendarId
      and e.outside_change is not null
    order by e.settle_tried_at nulls first, e.booking_id limit ${batchSize}`,
});

// The changes before it may have taken minutes. One that is not the entry's any more is settled: its event was written
// again, because the booking was changed otherwise.
const noteTry = statement({
  name: 'calendar.outside_change_tried',
  parameters: { bookingId: 'uuid', change: 'jsonb' },
  row: { bookingId: 'uuid' },
  text: `update calendar_entry set settle_tried_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and outside_change = :change
   returning booking_id as "bookingId"`,
});

const settled = statement({
  name: 'calendar.outside_change_settled',
  parameters: {
    bookingId: 'uuid',
    change: 'jsonb',
    startsAt: 'timestamptz?',
    endsAt: 'timestamptz?',
    isRemoved: 'boolean',
  },
  text: `update calendar_entry set outside_change = null, starts_at = coalesce(:startsAt, starts_at),
          ends_at = coalesce(:endsAt, ends_at), is_removed = is_removed or :isRemoved
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and outside_change = :change`,
});

/**
 * The change as it is now: an event that its owner moved out of the time that is read is listed as one that was removed, or
 * not at all.
 * @returns undefined if it is a write of ours that arrived late, with the time before a move of the booking
 */
async function currentChange(
  { calendarClients }: SettleServices,
  scope: Scope,
  { id: calendarId, connectionId, service }: SyncedCalendar,
  { bookingId, eventId, rescheduleCount }: Changed,
  call: CalendarCall,
): Promise<OutsideChange | undefined> {
  const client = calendarClients.clientFor(scope.tenant.environment, service);
  const found = await client.find({ scope, calendarId, connectionId }, { bookingId, eventId }, call);
  if (found === null) return { kind: 'removed' };
  const { startsAt, endsAt, revision } = found;
  return revision !== null && revision < rescheduleCount ? undefined : { kind: 'moved', startsAt, endsAt };
}

/**
 * Changes a booking as its event was changed in the calendar.
 * @returns whether the booking follows; false when its rules do not allow that
 */
async function follow(
  services: SettleServices,
  scope: Scope,
  { bookingId, startsAt }: Changed,
  change: OutsideChange,
): Promise<boolean> {
  const as = { reason: null, notifyAttendee: true, source: 'calendar' } as const;
  if (change.kind === 'removed') {
    await cancelBooking(services, scope, bookingId, as);
    return true;
  }
  const newStart = new Date(change.startsAt).toISOString();
  // A booking keeps its length, and begins on a whole minute of the years that there are bookings in.
  if (change.startsAt === startsAt.getTime() || readInstant(newStart) === undefined) return false;
  try {
    const moved = await rescheduleBooking(services, scope, bookingId, { newStart, ...as });
    return moved.end.getTime() === change.endsAt;
  } catch (error) {
    if (error instanceof AppError && error.kind !== 'service_unavailable') return false;
    throw error;
  }
}

/**
 * Settles the changes of other people to our events in a calendar: the bookings follow if the calendar allows it and
 * their rules permit it; otherwise the event is written again. Changes that cannot be settled now are left to a later
 * sync.
 */
export async function settleOutsideChanges(
  services: SettleServices,
  scope: Scope,
  calendar: SyncedCalendar,
  call: CalendarCall,
): Promise<void> {
  const calendarId = calendar.id;
  const { signal } = call;
  for (const changed of await scope.rows(find, { calendarId })) {
    signal.throwIfAborted();
    const { bookingId, change } = changed;
    // Before the try: one that a crash or the time limit of the sync ends counts too.
    if (!(await scope.one(noteTry, { bookingId, change: JSON.stringify(change) }))) continue;
    try {
      const current = changed.follow ? await currentChange(services, scope, calendar, changed, call) : undefined;
      if (current && (await follow(services, scope, changed, current))) {
        await scope.rows(settled, {
          bookingId,
          change: JSON.stringify(change),
          startsAt: current.kind === 'moved' ? new Date(current.startsAt) : null,
          endsAt: current.kind === 'moved' ? new Date(current.endsAt) : null,
          isRemoved: current.kind === 'removed',
        });
      } else await putBookingEntry(services, scope, changed, signal);
    } catch (error) {
      signal.throwIfAborted();
      services.log.warn({ err: error, bookingId, calendarId }, 'a change in a calendar will be settled later');
    }
  }
}
