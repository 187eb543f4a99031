import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { failPoint } from '../fail-points.ts';

/** The outbox kind of a booking whose workflow is to look at effects that were added to its latest change. */
export const lookWork = 'booking.look';

const perPage = 500;

/**
 * Makes the calendar entry of bookings due. Counting an attempt prevents an attempt that is under way and found no calendar
 * from ending the effect.
 * @param bookings a relation with `id` and `version`
 */
const entryIsDue = (bookings: string) =>
  `insert into booking_effect (booking_id, version, kind, organization_id, environment, status, attempts, facts, due_at,
                               created_at, updated_at)
   select id, version, 'calendar_entry', :organizationId, :environment, 'pending', 0, null, atelier_now(),
          atelier_now(), atelier_now()
     from ${bookings}
   on conflict (booking_id, version, kind) do update
      set status = 'pending', attempts = booking_effect.attempts + 1, due_at = excluded.due_at,
          created_at = excluded.created_at, updated_at = excluded.updated_at`;

interface Lacking {
  bookingId: string;
  startAt: Date;
}

// Bookings whose calendar entry is missing or outdated: bookings without an entry, those whose entry precedes a move,
// and entries of cancelled bookings. In the order of the index of a host's bookings, page by page.
const enqueueMissing = statement({
  name: 'calendar_entry.enqueue_missing',
  parameters: { calendarId: 'uuid', afterStartAt: 'timestamptz', afterBookingId: 'uuid', correlationId: 'text' },
  row: { bookingId: 'uuid', startAt: 'timestamptz' },
  text: `with lacking as materialized (
     select b.id, b.start_at, v.version
       from calendar c
       join booking b on b.organization_id = :organizationId and b.environment = :environment and b.host_id = c.host_id
       left join calendar_entry e on e.booking_id = b.id
      cross join lateral (
         select b.reschedule_count + case when b.status = 'cancelled' then 1 else 0 end as version) v
      where c.organization_id = :organizationId and c.environment = :environment and c.id = :calendarId
        and b.start_at > atelier_now() and (b.start_at, b.id) > (:afterStartAt, :afterBookingId)
        and case when b.status = 'confirmed' then e.booking_id is null or e.is_removed or e.version < v.version
                 else not e.is_removed end
      order by b.start_at, b.id limit ${perPage}),
   entries as (
     ${entryIsDue('lacking')}),
   links as (
     update booking_effect f
        set status = 'pending', attempts = f.attempts + 1, due_at = atelier_now(), created_at = atelier_now(),
            updated_at = atelier_now()
       from lacking l
      where f.organization_id = :organizationId and f.environment = :environment and f.booking_id = l.id
        and f.version = l.version
        and f.kind = 'meeting_link' and f.status <> 'succeeded'),
   enqueued as (
     ${enqueueSql(lookWork, {
       subject: 'id',
       correlation: ':correlationId',
       from: 'lacking',
       due: 'now',
     })} ${replacingEarlier})
   select id as "bookingId", start_at as "startAt" from lacking order by start_at, id`,
  enqueues: 'drain',
});

const beginning: Lacking = { bookingId: '00000000-0000-0000-0000-000000000000', startAt: new Date(0) };

/**
 * Makes the missing calendar entries of a host's future bookings due, after its calendar was connected. Each page is a
 * transaction of its own, and harmless to repeat: a recorded entry is not written again.
 * @returns how many bookings lacked something
 */
export async function enqueueMissingEntries(scope: Scope, calendarId: string): Promise<number> {
  let count = 0;
  for (let after = beginning; ; ) {
    const page = await scope.rows(enqueueMissing, {
      calendarId,
      afterStartAt: after.startAt,
      afterBookingId: after.bookingId,
      correlationId: scope.correlationId,
    });
    count += page.length;
    failPoint('calendar.entries_due');
    if (page.length < perPage) return count;
    after = page.at(-1)!;
  }
}

const enqueueRemoval = statement({
  name: 'calendar_entry.enqueue_removal',
  parameters: { bookingId: 'uuid', correlationId: 'text' },
  text: `with cancelled as materialized (
     select id, reschedule_count + 1 as version from booking
      where organization_id = :organizationId and environment = :environment and id = :bookingId
        and status = 'cancelled'),
   in_doubt as (
     update calendar_entry e set is_removed = false from cancelled
      where e.organization_id = :organizationId and e.environment = :environment and e.booking_id = cancelled.id
        and e.is_removed),
   entry as (
     ${entryIsDue('cancelled')})
   ${enqueueSql(lookWork, { subject: 'id', correlation: ':correlationId', from: 'cancelled', due: 'now' })}
   ${replacingEarlier}`,
  enqueues: 'drain',
});

/**
 * Makes the removal of the calendar entry of a booking due again, if the booking is cancelled: an entry whose write failed
 * may have been written after it was removed.
 */
export const enqueueRemovalIfCancelled = (scope: Scope, bookingId: string): Promise<unknown> =>
  scope.rows(enqueueRemoval, { bookingId, correlationId: scope.correlationId });
