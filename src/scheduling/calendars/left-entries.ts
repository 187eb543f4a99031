import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { CalendarClients } from './clients/clients.ts';
import type { CalendarCall } from './clients/ports.ts';
import type { SyncedCalendar } from './sync-state.ts';

/*
 * A calendar that lost its access keeps the event of a booking that is then written to another calendar of the host. When it
 * is connected again, its next sync removes the event.
 */

/** Maximum in one sync; the next one continues. */
const batchSize = 200;

// Before the new entry is recorded.
const note = statement({
  name: 'left_entry.note',
  parameters: { bookingId: 'uuid', calendarId: 'uuid' },
  text: `with returned as (
     delete from left_calendar_entry
      where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
        and calendar_id = :calendarId)
   insert into left_calendar_entry (calendar_id, booking_id, organization_id, environment, event_id)
   select calendar_id, booking_id, organization_id, environment, event_id from calendar_entry
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId
      and calendar_id <> :calendarId and not is_removed
   on conflict (calendar_id, booking_id) do update set event_id = excluded.event_id`,
});

/** Notes the event that a booking leaves behind if it is written to this calendar and was written to another one. */
export const noteLeftEntry = async (scope: Scope, bookingId: string, calendarId: string): Promise<void> => {
  await scope.rows(note, { bookingId, calendarId });
};

const find = statement({
  name: 'left_entry.find',
  parameters: { calendarId: 'uuid' },
  row: { bookingId: 'uuid', eventId: 'text' },
  text: `select booking_id as "bookingId", event_id as "eventId" from left_calendar_entry
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
    order by booking_id limit ${batchSize}`,
});

const forget = statement({
  name: 'left_entry.forget',
  parameters: { calendarId: 'uuid', bookingId: 'uuid' },
  text: `delete from left_calendar_entry
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and booking_id = :bookingId`,
});

/** Removes the events that bookings left behind in a calendar. Harmless to repeat. @throws ProviderFailure */
export async function removeLeftEntries(
  { calendarClients }: { calendarClients: CalendarClients },
  scope: Scope,
  { id: calendarId, connectionId, service }: SyncedCalendar,
  call: CalendarCall,
): Promise<void> {
  const client = calendarClients.clientFor(scope.tenant.environment, service);
  for (const entry of await scope.rows(find, { calendarId })) {
    call.signal.throwIfAborted();
    await client.remove({ scope, calendarId, connectionId }, entry, call);
    await scope.rows(forget, { calendarId, bookingId: entry.bookingId });
  }
}
