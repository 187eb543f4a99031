import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError } from '../platform/errors.ts';
import { lockHosts } from './bookings/booking-queues.ts';
import { Calendar } from './calendars/calendar-entities.ts';
import { hostIds } from './core/ids.ts';
import { BlackoutPeriod, Booking, SchedulingEventType } from './entities.ts';
import { hostNotFound } from './errors.ts';
import { lockHost } from './hosts.ts';

const forgetExceptions = statement({
  name: 'host.forget_exceptions',
  parameters: { id: 'text' },
  text: `update scheduling_settings
      set business_hours = (
            select json_object_agg(name, case when name = 'exceptions' then (
                     select coalesce(json_agg(e order by n), '[]')
                       from json_array_elements(member) with ordinality as x (e, n)
                      where e->>'hostId' is distinct from :id) else member end order by place)
              from json_each(business_hours) with ordinality as m (name, member, place))
    where organization_id = :organizationId and environment = :environment and business_hours is not null`,
});

/**
 * Deletes a host, with the blackouts and exceptions that name it. Bookings that are over or cancelled stay.
 * @throws AppError not_found, conflict when it is the default host, an event type names it, it has calendars, or bookings
 *   that are confirmed and not over
 */
export function deleteHost(scope: Scope, id: string): Promise<void> {
  return scope.transaction(async (tx) => {
    const uuid = hostIds.parse(id);
    if (!uuid) throw hostNotFound(id);
    // Bookings that are being made are committed, or refused, before the bookings are counted. Before the row is locked:
    // a booking that has this lock waits for the row when it is written.
    await lockHosts(tx, [uuid]);
    const host = await lockHost(tx.em, id);
    if (host.isDefault) throw new AppError('conflict', 'The default host cannot be deleted.');
    const eventTypes = await tx.em.count(SchedulingEventType, { hostId: host.id, deletedAt: null });
    if (eventTypes > 0) throw new AppError('conflict', 'Event types name this host.', { eventTypes });
    const calendars = await tx.em.count(Calendar, { hostId: host.id });
    if (calendars > 0) throw new AppError('conflict', 'Calendars of this host are connected.', { calendars });
    const now = clock.date();
    const bookings = await tx.em.count(Booking, { hostId: host.id, status: 'confirmed', endAt: { $gt: now } });
    if (bookings > 0) throw new AppError('conflict', 'The host has confirmed bookings.', { bookings });
    await tx.em.nativeDelete(BlackoutPeriod, { hostId: host.id });
    await tx.rows(forgetExceptions, { id: host.id });
    host.deletedAt = now;
    await tx.audit({ action: 'host.delete', subjectId: host.id });
  });
}
