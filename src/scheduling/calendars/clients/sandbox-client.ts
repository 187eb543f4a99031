import { createHash } from 'node:crypto';
import { AuthExpired } from '../../../connections/index.ts';
import type { Scope, Transaction } from '../../../platform/database/scope.ts';
import { statement } from '../../../platform/database/sql.ts';
import { typed } from '../../../platform/database/sql-types.ts';
import { ProviderFailure } from '../../../platform/provider-failure.ts';
import type { Service } from '../../core/calendar-status.ts';
import type { SandboxEvent, SandboxFault } from '../calendar-entities.ts';
import { timeOfDays, timeOfInstants } from './event-times.ts';
import {
  type Account,
  type CalendarClient,
  CalendarGone,
  type EntryToWrite,
  type ListedEvent,
  type ListedPage,
  type Listing,
  SyncTokenExpired,
  type WrittenEvent,
} from './ports.ts';

const perPage = 250;
/** With the fault `partial_pages`. */
const perPartialPage = 1;
const retryAfterMs = 1_000;

interface State {
  version: number;
  /** Changes are not known from before this version on. */
  oldestChange: number;
  fault: SandboxFault | null;
  faultIsSpent: boolean;
}

// The calendar is locked before its sandbox, in the same order as in a write of events: a new event locks the calendar
// too, and different orders would deadlock.
const open = statement({
  name: 'sandbox_calendar.open',
  parameters: { calendarId: 'uuid' },
  row: { version: 'int', oldestChange: 'int', fault: typed<SandboxFault | null>('text?'), faultIsSpent: 'boolean' },
  text: `insert into sandbox_calendar (organization_id, environment, calendar_id, version, oldest_change, fault,
    fault_is_spent)
   select :organizationId, :environment, c.id, 1, 1, null, false from calendar c
    where c.organization_id = :organizationId and c.environment = :environment and c.id = :calendarId
    for key share of c
   on conflict (calendar_id) do update set version = sandbox_calendar.version
   returning version, oldest_change as "oldestChange", fault, fault_is_spent as "faultIsSpent"`,
});

const spend = statement({
  name: 'sandbox_calendar.spend_fault',
  parameters: { calendarId: 'uuid' },
  row: { spent: 'boolean' },
  text: `update sandbox_calendar set fault_is_spent = true
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and not fault_is_spent
   returning true as spent`,
});

interface EventRow {
  eventId: string;
  version: number;
  event: SandboxEvent | null;
  bookingId: string | null;
}

const list = statement({
  name: 'sandbox_calendar.list',
  parameters: { calendarId: 'uuid', after: 'text', since: 'int', limit: 'int' },
  row: { eventId: 'text', version: 'int', event: typed<SandboxEvent | null>('jsonb?'), bookingId: 'uuid?' },
  text: `select event_id as "eventId", version, event, booking_id as "bookingId" from sandbox_calendar_event
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and event_id > :after collate "C"
      and version > :since and (event is not null or :since > 0)
    order by event_id collate "C" limit :limit`,
});

const findEvent = statement({
  name: 'sandbox_calendar.find_event',
  parameters: { calendarId: 'uuid', eventId: 'text' },
  row: { eventId: 'text', version: 'int', event: typed<SandboxEvent | null>('jsonb?'), bookingId: 'uuid?' },
  text: `select event_id as "eventId", version, event, booking_id as "bookingId" from sandbox_calendar_event
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and event_id = :eventId`,
});

const raise = statement({
  name: 'sandbox_calendar.raise',
  parameters: { calendarId: 'uuid' },
  row: { version: 'int' },
  text: `update sandbox_calendar set version = version + 1
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      returning version`,
});

const put = statement({
  name: 'sandbox_calendar.put_event',
  parameters: { calendarId: 'uuid', eventId: 'text', version: 'int', event: 'jsonb', bookingId: 'uuid' },
  text: `insert into sandbox_calendar_event (organization_id, environment, calendar_id, event_id, version, event,
    booking_id)
   values (:organizationId, :environment, :calendarId, :eventId, :version, :event, :bookingId)
   on conflict (calendar_id, event_id) do update set version = excluded.version, event = excluded.event,
     booking_id = coalesce(excluded.booking_id, sandbox_calendar_event.booking_id)`,
});

const drop = statement({
  name: 'sandbox_calendar.drop_event',
  parameters: { calendarId: 'uuid', eventId: 'text', version: 'int' },
  text: `update sandbox_calendar_event set version = :version, event = null
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and event_id = :eventId and event is not null`,
});

/** Raises the version of a sandbox calendar. @returns the new one. @throws CalendarGone when it was deleted */
export async function raiseVersion(tx: Transaction, calendarId: string): Promise<number> {
  if (!(await tx.one(open, { calendarId }))) throw new CalendarGone('The calendar was deleted.');
  return (await tx.one(raise, { calendarId }))!.version;
}

/** The position of a listing: the state at its start, and the last event that it returned. */
interface Cursor {
  since: number;
  /** What later changes are listed from: the version when the listing began. */
  until: number;
  after: string;
}

const writeCursor = (cursor: Cursor) => Buffer.from(JSON.stringify(cursor)).toString('base64url');
const readCursor = (page: string): Cursor => JSON.parse(Buffer.from(page, 'base64url').toString('utf8'));

function listed({ eventId, event, bookingId }: EventRow, timezone: string): ListedEvent {
  const isGone = event === null || event.status === 'cancelled';
  if (isGone) return { id: eventId, time: null, blocks: false, bookingId, seriesId: null };
  const { start, end, allDay } = event;
  const time = allDay ? timeOfDays(start, end, timezone) : timeOfInstants(start, end);
  return { id: eventId, time, blocks: event.transparency !== 'transparent', bookingId, seriesId: null };
}

const eventIdOf = (bookingId: string) => `booking-${bookingId}`;

/** 12 characters that belong to the booking. */
const meetingCode = (bookingId: string) =>
  createHash('sha256').update(`meet ${bookingId}`).digest('base64url').replace(/[-_]/g, 'x').slice(0, 12);

/**
 * Calendars of test keys: events that callers put, with the faults that they choose. It keeps them in our own database, and
 * lists them as a provider does: in pages, and by what changed.
 * @param publicUrl without a slash at its end
 */
export function sandboxCalendars(publicUrl: string): (service: Service) => CalendarClient {
  async function enter(scope: Scope, calendarId: string, isChanges: boolean): Promise<State> {
    const state = await scope.one(open, { calendarId });
    if (!state) throw new CalendarGone('The calendar was deleted.');
    const { fault } = state;
    if (fault === 'revoked') throw new AuthExpired();
    if (fault === 'gone') throw new CalendarGone('The calendar was deleted.');
    if (fault === 'unavailable') throw new ProviderFailure('unavailable', 'The sandbox is unavailable.');
    const isOnce = fault === 'rate_limited' || (fault === 'sync_token_expired' && isChanges);
    if (!isOnce || state.faultIsSpent || !(await scope.one(spend, { calendarId }))) return state;
    if (fault === 'sync_token_expired') throw new SyncTokenExpired('The sync token has expired.');
    throw new ProviderFailure('rate_limited', 'The sandbox limited the rate of requests.', { retryAfterMs });
  }

  const client: CalendarClient = {
    async list({ scope, calendarId }: Account, listing: Listing, page, { timezone }): Promise<ListedPage> {
      const { version, oldestChange, fault } = await enter(scope, calendarId, listing.kind === 'changes');
      const since = listing.kind === 'changes' ? Number(listing.since) : 0;
      const cursor = page === null ? { since, until: version, after: '' } : readCursor(page);
      const isKnown = since === 0 || (since >= oldestChange && since <= version);
      if (!isKnown) throw new SyncTokenExpired('The sync token has expired.');
      const size = fault === 'partial_pages' ? perPartialPage : perPage;
      const rows = await scope.rows(list, { calendarId, after: cursor.after, since: cursor.since, limit: size + 1 });
      const shown = rows.slice(0, size);
      const isLast = rows.length <= size;
      return {
        events: shown.map((row) => listed(row, timezone)),
        next: isLast
          ? { token: String(cursor.until) }
          : { page: writeCursor({ ...cursor, after: shown.at(-1)!.eventId }) },
      };
    },

    async write({ scope, calendarId }: Account, entry: EntryToWrite): Promise<WrittenEvent> {
      await enter(scope, calendarId, false);
      const { bookingId, revision, startsAt, endsAt, title, withMeeting } = entry;
      const eventId = eventIdOf(bookingId);
      const meetingUrl = withMeeting ? `${publicUrl}/sandbox/meet/${meetingCode(bookingId)}` : null;
      const [start, end] = [new Date(startsAt).toISOString(), new Date(endsAt).toISOString()];
      const event = { id: eventId, start, end, title, revision, ...(meetingUrl !== null && { meetingUrl }) };
      await scope.transaction(async (tx) => {
        const version = await raiseVersion(tx, calendarId);
        await tx.rows(put, { calendarId, eventId, version, event: JSON.stringify(event), bookingId });
      });
      return { eventId, meetingUrl };
    },

    async find({ scope, calendarId }: Account, { eventId }, { timezone }) {
      await enter(scope, calendarId, false);
      const row = await scope.one(findEvent, { calendarId, eventId });
      const time = row ? listed(row, timezone).time : null;
      return time && { ...time, revision: row?.event?.revision ?? null };
    },

    async remove({ scope, calendarId }: Account, { bookingId, eventId }): Promise<void> {
      await enter(scope, calendarId, false);
      await scope.transaction(async (tx) => {
        const version = await raiseVersion(tx, calendarId);
        await tx.rows(drop, { calendarId, eventId: eventId ?? eventIdOf(bookingId), version });
      });
    },
  };
  return () => client;
}
