import type { Scope } from '../../../platform/database/scope.ts';
import { statement } from '../../../platform/database/sql.ts';
import { calendarIds } from '../../core/ids.ts';
import { calendarNotFound } from '../../errors.ts';
import {
  Calendar,
  SandboxCalendar,
  SandboxCalendarEvent,
  type SandboxEvent,
  type SandboxFault,
} from '../calendar-entities.ts';
import { lockCalendar } from '../calendars.ts';
import { raiseVersion } from './sandbox-client.ts';

interface PutSandbox {
  events: SandboxEvent[];
  fault: SandboxFault | null;
}

export interface SandboxView {
  events: SandboxEvent[];
  fault: SandboxFault | null;
  written: (SandboxEvent & { bookingId: string })[];
}

/** Only calendars of test keys have events to be put. @throws AppError not_found */
function requireSandbox(scope: Scope, id: string): void {
  if (scope.tenant.environment !== 'test') throw calendarNotFound(id);
}

// Removed ones stay for a listing of changes, until the next time events are put.
const forgetRemoved = statement({
  name: 'sandbox_calendar.forget_removed',
  parameters: { calendarId: 'uuid' },
  row: { version: 'int' },
  text: `delete from sandbox_calendar_event
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and event is null
   returning version`,
});

const replace = statement({
  name: 'sandbox_calendar.replace_events',
  parameters: { calendarId: 'uuid', version: 'int', events: 'jsonb' },
  text: `with given as (select e->>'id' as id, e as event from jsonb_array_elements(:events) as e),
   written as (
     insert into sandbox_calendar_event (organization_id, environment, calendar_id, event_id, version, event,
       booking_id)
     select :organizationId, :environment, :calendarId, id, :version, event, null from given
     on conflict (calendar_id, event_id) do update set version = excluded.version, event = excluded.event
      where sandbox_calendar_event.event is distinct from excluded.event)
   update sandbox_calendar_event set version = :version, event = null
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and booking_id is null and event is not null
      and event_id not in (select id from given)`,
});

/**
 * Replaces the events of other people in a sandbox calendar, and its fault: the next sync reads them. An event with the
 * id of an event that we wrote changes our event; the status `cancelled` removes it.
 * @param id in either form. @throws AppError not_found
 */
export async function putSandbox(scope: Scope, id: string, { events, fault }: PutSandbox): Promise<SandboxView> {
  requireSandbox(scope, id);
  await scope.transaction(async (tx) => {
    const { id: calendarId } = await lockCalendar(tx.em, id);
    const version = await raiseVersion(tx, calendarId);
    const forgotten = (await tx.rows(forgetRemoved, { calendarId })).map((row) => row.version);
    await tx.rows(replace, { calendarId, version, events: JSON.stringify(events) });
    const oldestChange = forgotten.length > 0 ? Math.max(...forgotten) : undefined;
    const change = { fault, faultIsSpent: false, ...(oldestChange !== undefined && { oldestChange }) };
    await tx.em.nativeUpdate(SandboxCalendar, { calendarId }, change);
  });
  return getSandbox(scope, id);
}

/** Maximum events of bookings that are shown: a calendar has those of all days for which bookings are kept. */
export const maxWritten = 500;
/** Events of others: they are replaced together, so that there are never more. */
const maxOthers = 500;

/** The contents of a sandbox calendar. @param id in either form. @throws AppError not_found */
export async function getSandbox(scope: Scope, id: string): Promise<SandboxView> {
  requireSandbox(scope, id);
  const calendarId = calendarIds.parse(id);
  return scope.read(async (em) => {
    const known = calendarId && (await em.findOne(Calendar, { id: calendarId }));
    if (!known) throw calendarNotFound(id);
    const state = await em.findOne(SandboxCalendar, { calendarId });
    const others = await em.find(
      SandboxCalendarEvent,
      { calendarId, event: { $ne: null }, bookingId: null },
      { orderBy: { eventId: 'asc' }, limit: maxOthers },
    );
    const ours = await em.find(
      SandboxCalendarEvent,
      { calendarId, event: { $ne: null }, bookingId: { $ne: null } },
      { orderBy: { eventId: 'desc' }, limit: maxWritten },
    );
    return {
      events: others.flatMap(({ event }) => (event ? [event] : [])),
      fault: state?.fault ?? null,
      // The owner of the calendar does not see removed events.
      written: ours.toReversed().flatMap(({ event, bookingId }) => {
        if (!event || !bookingId || event.status === 'cancelled') return [];
        const { revision: _, ...shown } = event;
        return [{ ...shown, bookingId }];
      }),
    };
  });
}
