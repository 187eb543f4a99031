import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { type BookingLinks, type BookingPages, hostLinksOf } from '../bookings/booking-pages.ts';
import type { CalendarStatus, Service } from '../core/calendar-status.ts';
import { addressOf, answersOf, oneLine, whereOf } from '../core/mail-text.ts';
import { enqueueRemovalIfCancelled } from '../effects/missing-entries.ts';
import type { BookedLocation, Question } from '../entities.ts';
import { failPoint } from '../fail-points.ts';
import { type LostAccess, stopIfLost, toCalendarFailure } from './clients/access-failures.ts';
import type { CalendarClients } from './clients/clients.ts';
import type { CalendarCall } from './clients/ports.ts';
import { noteLeftEntry } from './left-entries.ts';
import { eventKeyOf } from './store-busy.ts';

export interface EntryServices {
  calendarClients: CalendarClients;
  bookingPages: BookingPages;
}

type PutEntry = { kind: 'written'; calendarId: string; meetingUrl: string | null } | { kind: 'no_calendar' };

interface BookingRow {
  hostId: string;
  isConfirmed: boolean;
  rescheduleCount: number;
  startAt: Date;
  endAt: Date;
  attendeeName: string;
  attendeeEmail: string;
  attendeePhone: string | null;
  location: BookedLocation | null;
  /** The location text of the event type, if the location has no address of its own. */
  place: string | null;
  responses: Record<string, unknown>;
  questions: Question[];
  hostToken: string | null;
  title: string;
  /** The location type that needs a meeting link; null if none does. */
  meeting: string | null;
  timezone: string;
  entryCalendarId: string | null;
  entryEventId: string | null;
  entryVersion: number | null;
  entryMeetingUrl: string | null;
  entryIsRemoved: boolean | null;
  hasOutsideChange: boolean | null;
}

const findBooking = statement({
  name: 'calendar_entry.booking',
  parameters: { bookingId: 'uuid' },
  row: {
    hostId: 'uuid',
    isConfirmed: 'boolean',
    rescheduleCount: 'int',
    startAt: 'timestamptz',
    endAt: 'timestamptz',
    attendeeName: 'text',
    attendeeEmail: 'text',
    attendeePhone: 'text?',
    location: typed<BookedLocation | null>('json?'),
    responses: typed<Record<string, unknown>>('json'),
    questions: typed<Question[]>('json'),
    hostToken: 'text?',
    title: 'text',
    timezone: 'text',
    place: 'text?',
    meeting: 'text?',
    entryCalendarId: 'uuid?',
    entryEventId: 'text?',
    entryVersion: 'int?',
    entryMeetingUrl: 'text?',
    entryIsRemoved: 'boolean?',
    hasOutsideChange: 'boolean?',
  },
  text: `select b.host_id as "hostId", b.status = 'confirmed' as "isConfirmed",
          b.reschedule_count as "rescheduleCount", b.start_at as "startAt", b.end_at as "endAt",
          b.attendee_name as "attendeeName", b.attendee_email as "attendeeEmail", b.attendee_phone as "attendeePhone",
          b.location, b.responses, t.questions, b.host_token as "hostToken", t.name as title, h.timezone,
          (select coalesce(nullif(l->>'address', ''), nullif(l->>'number', '')) from json_array_elements(t.locations) l
            where l->>'type' = b.location->>'type' limit 1) as place,
          (select l->>'type' from json_array_elements(t.locations) l
            where l->>'type' = b.location->>'type' and l->>'autoCreate' = 'true' limit 1) as meeting,
          e.calendar_id as "entryCalendarId", e.event_id as "entryEventId", e.version as "entryVersion",
          e.meeting_url as "entryMeetingUrl", e.is_removed as "entryIsRemoved",
          e.outside_change is not null as "hasOutsideChange"
     from booking b
     join scheduling_event_type t on t.id = b.event_type_id
     join scheduling_host h on h.id = b.host_id
     left join calendar_entry e on e.booking_id = b.id
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :bookingId`,
});

interface Target {
  id: string;
  connectionId: string;
  service: Service;
  status: CalendarStatus;
}

const targetColumns = {
  id: 'uuid',
  connectionId: 'uuid',
  service: typed<Service>('text'),
  status: typed<CalendarStatus>('text'),
} as const;

// The calendar that has the entry; else the oldest that can create the meeting link; else the oldest. A calendar that
// could not be read lately is still tried.
const findTarget = statement({
  name: 'calendar_entry.target',
  parameters: { hostId: 'uuid', entryCalendarId: 'uuid?', meetingService: 'text?' },
  row: targetColumns,
  text: `select id, connection_id as "connectionId", service, status from calendar
    where organization_id = :organizationId and environment = :environment and host_id = :hostId
      and status not in ('auth_expired', 'disconnected')
    order by (id is not distinct from :entryCalendarId) desc, (service is not distinct
      from :meetingService) desc, created_at, id
    limit 1`,
});

const findConnected = statement({
  name: 'calendar_entry.connected',
  parameters: { hostId: 'uuid' },
  row: targetColumns,
  text: `select id, connection_id as "connectionId", service, status from calendar
    where organization_id = :organizationId and environment = :environment and host_id = :hostId
      and status not in ('auth_expired', 'disconnected')
    order by created_at, id`,
});

const findCalendarOf = statement({
  name: 'calendar_entry.calendar',
  parameters: { entryCalendarId: 'uuid' },
  row: targetColumns,
  text: `select id, connection_id as "connectionId", service, status from calendar
    where organization_id = :organizationId and environment = :environment and id = :entryCalendarId`,
});

const record = statement({
  name: 'calendar_entry.record',
  parameters: {
    bookingId: 'uuid',
    calendarId: 'uuid',
    eventId: 'text',
    version: 'int',
    startAt: 'timestamptz',
    endAt: 'timestamptz',
    meetingUrl: 'text?',
  },
  row: { version: 'int' },
  text: `insert into calendar_entry (organization_id, environment, booking_id, calendar_id, event_id, version,
                               starts_at, ends_at, meeting_url, is_removed, written_at, seen_generation, outside_change)
   select :organizationId, :environment, :bookingId, c.id, :eventId, :version, :startAt, :endAt, :meetingUrl, false,
          atelier_now(), null, null
     from calendar c where c.id = :calendarId
   on conflict (booking_id) do update
      set calendar_id = excluded.calendar_id, event_id = excluded.event_id, version = excluded.version,
          starts_at = excluded.starts_at, ends_at = excluded.ends_at, meeting_url = excluded.meeting_url,
          is_removed = false, written_at = excluded.written_at, outside_change = null
    where calendar_entry.version <= excluded.version
   returning version`,
});

const lockCalendarRow = statement({
  name: 'calendar_entry.lock_calendar',
  parameters: { calendarId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from calendar where organization_id = :organizationId and environment = :environment
    and id = :calendarId for no key update`,
});

const dropBusy = statement({
  name: 'calendar_entry.drop_busy',
  parameters: { calendarId: 'uuid', eventId: 'uuid' },
  text: `delete from calendar_busy
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and event_key = :eventId`,
});

/**
 * Records the event of a booking. A sync that read the event before treated it as an event of other people: the time
 * that it blocked is free again. Syncs write while they hold the calendar's row, too.
 * @returns false when a later version was recorded meanwhile
 */
const recordEntry = (
  scope: Scope,
  { bookingId, calendarId, eventId, version, startAt, endAt, meetingUrl }: RecordedEntry,
): Promise<boolean> =>
  scope.transaction(async (tx) => {
    await tx.one(lockCalendarRow, { calendarId });
    await noteLeftEntry(tx, bookingId, calendarId);
    const recorded = await tx.one(record, { bookingId, calendarId, eventId, version, startAt, endAt, meetingUrl });
    if (recorded) await tx.rows(dropBusy, { calendarId, eventId: eventKeyOf(eventId) });
    return recorded !== undefined;
  });

const recordRemoved = statement({
  name: 'calendar_entry.record_removed',
  parameters: { bookingId: 'uuid' },
  text: `update calendar_entry set is_removed = true, written_at = atelier_now(), outside_change = null
    where organization_id = :organizationId and environment = :environment and booking_id = :bookingId`,
});

interface RecordedEntry {
  bookingId: string;
  calendarId: string;
  eventId: string;
  version: number;
  startAt: Date;
  endAt: Date;
  meetingUrl: string | null;
}

/** The service that makes the links of a type of location. */
const meetingServices: Readonly<Record<string, Service>> = { google_meet: 'google', microsoft_teams: 'microsoft' };

const callOf = (signal: AbortSignal, timezone: string): CalendarCall => ({ signal, timezone, memory: new Map() });

const failureOf: Record<LostAccess, () => ProviderFailure> = {
  auth_expired: () => new ProviderFailure('auth', 'Access to the calendar was withdrawn.'),
  disconnected: () => new ProviderFailure('invalid_request', 'The calendar no longer exists.'),
};

/** Makes what fails in a calendar known to its owner, as a sync would. @throws ProviderFailure */
async function reportToOwner<T>(scope: Scope, calendarId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const lost = await stopIfLost(scope, calendarId, error);
    throw lost ? failureOf[lost]() : toCalendarFailure(error);
  }
}

/**
 * The text for the host in the entry: how to reach the attendee, the location, the answers, and the page that changes
 * the booking.
 */
function describe(booking: BookingRow, links: BookingLinks | null): string {
  const lines = [
    oneLine(booking.attendeeName),
    booking.attendeeEmail,
    booking.attendeePhone,
    whereOf(booking),
    ...answersOf(booking),
    links && `Move or cancel: ${links.confirmationUrl}`,
  ];
  return lines.filter(Boolean).join('\n');
}

/** How often an event is written again because its booking was changed by others meanwhile. */
const maxWrites = 5;

/**
 * Writes the event of a booking into a calendar of its host, or changes it. Harmless to repeat: the event's id is
 * derived from the booking, so a call after a lost answer finds the event of the first call.
 * @param version of the booking, which grows with each change; one that was written is not written again
 * @throws ProviderFailure, which says whether to try again
 */
export async function putBookingEntry(
  services: EntryServices,
  scope: Scope,
  booking: { bookingId: string; version: number },
  signal: AbortSignal,
): Promise<PutEntry> {
  try {
    return await putUntilCurrent(services, scope, booking, signal);
  } catch (error) {
    // It may have been written nevertheless, and a cancellation in the meantime found nothing to remove.
    await enqueueRemovalIfCancelled(scope, booking.bookingId);
    throw error;
  }
}

async function putUntilCurrent(
  services: EntryServices,
  scope: Scope,
  { bookingId, version }: { bookingId: string; version: number },
  signal: AbortSignal,
): Promise<PutEntry> {
  const first = await putOnce(services, scope, { bookingId, version }, signal);
  if (!first.wrote) return first.entry;
  // The effects of a booking and the sync of a calendar write at the same time, and the last write wins: a writer that
  // then finds the booking changed corrects the event.
  let { entry, wrote } = first;
  for (let writes = 1; writes < maxWrites; writes++) {
    const now = await scope.one(findBooking, { bookingId });
    if (!now) return entry;
    if (!now.isConfirmed) {
      await removeBookingEntry(services, scope, { bookingId }, signal);
      return entry;
    }
    const isCurrent = wrote.isRecorded && now.startAt.getTime() === wrote.startsAt;
    if (isCurrent) return entry;
    const again = { bookingId, version: Math.max(version, now.entryVersion ?? 0), isForced: true };
    const next = await putOnce(services, scope, again, signal);
    if (!next.wrote) return next.entry;
    ({ entry, wrote } = next);
  }
  throw new ProviderFailure('unavailable', 'The booking is being changed.');
}

interface Put {
  entry: PutEntry;
  /** Null if nothing was written. `isRecorded`: false if a later version was recorded in the meantime. */
  wrote: { startsAt: number; isRecorded: boolean } | null;
}

async function putOnce(
  { calendarClients, bookingPages }: EntryServices,
  scope: Scope,
  { bookingId, version, isForced = false }: { bookingId: string; version: number; isForced?: boolean },
  signal: AbortSignal,
): Promise<Put> {
  const booking = await scope.one(findBooking, { bookingId });
  if (!booking) return { entry: { kind: 'no_calendar' }, wrote: null };
  const meetingService = booking.meeting === null ? undefined : meetingServices[booking.meeting];
  const target = await scope.one(findTarget, {
    hostId: booking.hostId,
    entryCalendarId: booking.entryCalendarId,
    meetingService: meetingService ?? null,
  });
  if (!target) return { entry: { kind: 'no_calendar' }, wrote: null };
  const isSame = booking.entryCalendarId === target.id && !booking.entryIsRemoved;
  const isWritten = isSame && booking.entryVersion! >= version && !booking.hasOutsideChange && !isForced;
  if (isWritten || !booking.isConfirmed) {
    const entry = { kind: 'written', calendarId: target.id, meetingUrl: booking.entryMeetingUrl } as const;
    return { entry, wrote: null };
  }
  const time = { startsAt: booking.startAt.getTime(), endsAt: booking.endAt.getTime() };
  const links = await hostLinksOf(bookingPages, scope, { id: bookingId, hostToken: booking.hostToken });
  const entry = {
    bookingId,
    ...time,
    title: `${booking.title}: ${booking.attendeeName}`,
    description: describe(booking, links),
    location: addressOf(booking),
    attendee: { name: booking.attendeeName, email: booking.attendeeEmail },
    withMeeting: meetingService === target.service,
    eventId: booking.entryCalendarId === target.id ? booking.entryEventId : null,
    revision: booking.rescheduleCount,
  };
  const client = calendarClients.clientFor(scope.tenant.environment, target.service);
  const account = { scope, calendarId: target.id, connectionId: target.connectionId };
  const written = await reportToOwner(scope, target.id, () =>
    client.write(account, entry, callOf(signal, booking.timezone)),
  );
  failPoint('calendar.entry_written');
  const { eventId, meetingUrl } = written;
  const { startAt, endAt } = booking;
  const isRecorded = await recordEntry(scope, {
    bookingId,
    calendarId: target.id,
    eventId,
    version,
    startAt,
    endAt,
    meetingUrl,
  });
  return {
    entry: { kind: 'written', calendarId: target.id, meetingUrl },
    wrote: { startsAt: time.startsAt, isRecorded },
  };
}

/**
 * Removes the event of a booking. Without a record of it, every connected calendar of the host is searched: its writer
 * may have crashed, or the calendar was deleted and connected again. Harmless to repeat.
 * @returns `no_calendar` when there is none in which it could be
 * @throws ProviderFailure, which says whether to try again
 */
export async function removeBookingEntry(
  { calendarClients }: Pick<EntryServices, 'calendarClients'>,
  scope: Scope,
  { bookingId }: { bookingId: string },
  signal: AbortSignal,
): Promise<{ kind: 'removed' | 'no_calendar' }> {
  const booking = await scope.one(findBooking, { bookingId });
  if (!booking) return { kind: 'no_calendar' };
  if (booking.entryIsRemoved) return { kind: 'removed' };
  const { entryCalendarId, entryEventId: eventId } = booking;
  const targets =
    entryCalendarId === null
      ? await scope.rows(findConnected, { hostId: booking.hostId })
      : await scope.rows(findCalendarOf, { entryCalendarId });
  const remove = (target: Target) => {
    const client = calendarClients.clientFor(scope.tenant.environment, target.service);
    const account = { scope, calendarId: target.id, connectionId: target.connectionId };
    const call = callOf(signal, booking.timezone);
    return reportToOwner(scope, target.id, () => client.remove(account, { bookingId, eventId }, call));
  };
  // One failure does not prevent the others.
  for (const result of await Promise.allSettled(targets.map(remove))) {
    if (result.status === 'rejected') throw result.reason;
  }
  if (entryCalendarId !== null) await scope.rows(recordRemoved, { bookingId });
  return { kind: targets.length === 0 ? 'no_calendar' : 'removed' };
}
