import { randomUUID } from 'node:crypto';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { CalendarProblem } from '../../temporal/contracts/calendars.ts';
import type { CalendarStatus, Service } from '../core/calendar-status.ts';
import type { Baseline } from './calendar-entities.ts';
import { calendarWork } from './calendars.ts';

/** A calendar as a sync finds it. */
export interface SyncedCalendar {
  id: string;
  hostId: string;
  connectionId: string;
  service: Service;
  status: CalendarStatus;
  followChanges: boolean;
  generation: number;
  syncToken: string | null;
  windowStartsAt: Date | null;
  windowEndsAt: Date | null;
  baselinedAt: Date | null;
  baseline: Baseline | null;
  channelId: string | null;
  channelResource: string | null;
  channelEndsAt: Date | null;
  /** The timezone of the host. */
  timezone: string;
  /** The largest of the host's active event types; null when one has no limit, or there is none. */
  maxAdvance: number | null;
  /** The sync that read this. */
  syncId: string;
}

const columns = `c.id, c.host_id as "hostId", c.connection_id as "connectionId", c.service, c.status,
  c.follow_changes as "followChanges", c.generation, c.sync_token as "syncToken",
  c.window_starts_at as "windowStartsAt", c.window_ends_at as "windowEndsAt", c.baselined_at as "baselinedAt",
  c.baseline, c.channel_id as "channelId", c.channel_resource as "channelResource",
  c.channel_ends_at as "channelEndsAt", h.timezone, c.sync_id as "syncId",
  (select case when bool_or(max_advance is null) then null else max(max_advance) end from scheduling_event_type e
    where e.organization_id = :organizationId and e.environment = :environment and e.deleted_at is null and e.is_active
      and (e.host_id = h.id or (e.host_id is null and h.is_default))) as "maxAdvance"`;

const syncedCalendarColumns = {
  id: 'uuid',
  hostId: 'uuid',
  connectionId: 'uuid',
  service: typed<Service>('text'),
  status: typed<CalendarStatus>('text'),
  followChanges: 'boolean',
  generation: 'int',
  syncToken: 'text?',
  windowStartsAt: 'timestamptz?',
  windowEndsAt: 'timestamptz?',
  baselinedAt: 'timestamptz?',
  baseline: typed<Baseline | null>('jsonb?'),
  channelId: 'text?',
  channelResource: 'text?',
  channelEndsAt: 'timestamptz?',
  timezone: 'text',
  syncId: 'uuid',
  maxAdvance: 'int?',
} as const;

const begin = statement({
  name: 'calendar.begin_sync',
  parameters: { calendarId: 'uuid', syncId: 'uuid' },
  row: syncedCalendarColumns,
  text: `update calendar c
      set sync_id = :syncId,
          status = case when c.status in ('auth_expired', 'disconnected') then c.status else 'syncing' end
     from scheduling_host h
    where c.organization_id = :organizationId and c.environment = :environment and c.id = :calendarId
      and h.id = c.host_id
   returning ${columns}`,
});

/**
 * Begins a sync; from now on an earlier sync that still runs can write nothing. @returns undefined if the calendar was
 * deleted
 */
export const beginSync = (scope: Scope, calendarId: string): Promise<SyncedCalendar | undefined> =>
  scope.one(begin, { calendarId, syncId: randomUUID() });

const find = statement({
  name: 'calendar.find',
  parameters: { calendarId: 'uuid' },
  row: syncedCalendarColumns,
  text: `select ${columns} from calendar c join scheduling_host h on h.id = c.host_id
    where c.organization_id = :organizationId and c.environment = :environment and c.id = :calendarId`,
});

/** @returns undefined when it was deleted */
export const findCalendar = (scope: Scope, calendarId: string): Promise<SyncedCalendar | undefined> =>
  scope.one(find, { calendarId });

const fail = statement({
  name: 'calendar.sync_failed',
  parameters: { calendarId: 'uuid', code: 'text', message: 'text' },
  row: { id: 'uuid' },
  text: `update calendar
      set status = 'error', last_error_code = :code, last_error_message = :message, last_error_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :calendarId
      and status not in ('auth_expired', 'disconnected')
   returning id`,
});

const note = statement({
  name: 'calendar.note_sync_error',
  parameters: { calendarId: 'uuid', code: 'text', message: 'text' },
  row: { id: 'uuid' },
  text: `update calendar set last_error_code = :code, last_error_message = :message, last_error_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :calendarId
      and status not in ('auth_expired', 'disconnected')
   returning id`,
});

/** An attempt of a sync failed. The error is shown while the next attempt, or another sync, waits. */
export async function noteSyncError(
  scope: Scope,
  calendarId: string,
  { code, message }: CalendarProblem,
): Promise<void> {
  await scope.rows(note, { calendarId, code: code.slice(0, 40), message: message.slice(0, 500) });
}

/** A sync failed for good. The busy times of the last one stay in force, and the next one tries again. */
export async function recordSyncFailure(
  scope: Scope,
  calendarId: string,
  { code, message }: CalendarProblem,
): Promise<void> {
  await scope.rows(fail, { calendarId, code: code.slice(0, 40), message: message.slice(0, 500) });
}

const stop = statement({
  name: 'calendar.stop',
  parameters: { calendarId: 'uuid', status: 'text', lastErrorMessage: 'text' },
  row: { id: 'uuid' },
  text: `update calendar
      set status = :status, last_error_code = :status, last_error_message = :lastErrorMessage,
        last_error_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :calendarId and status <> :status
   returning id`,
});

/** The reason why a calendar is no longer read. */
export const reasons = {
  auth_expired: 'Access to the calendar was withdrawn. Connect it again.',
  disconnected: 'The calendar no longer exists. Connect it again.',
} as const;

/**
 * Ends the syncs of a calendar until it is connected again. The first time its Schedule is paused, and the organization's
 * contact gets a mail where access was withdrawn.
 */
export async function stopSyncs(scope: Scope, calendarId: string, status: keyof typeof reasons): Promise<void> {
  await scope.transaction(async (tx) => {
    if (!(await tx.one(stop, { calendarId, status, lastErrorMessage: reasons[status] }))) return;
    await tx.enqueue(calendarWork.schedule, calendarId);
    if (status === 'auth_expired') await tx.enqueue(calendarWork.notice, calendarId);
  });
}

const findOfConnection = statement({
  name: 'calendar.of_connection',
  parameters: { connectionId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from calendar where organization_id = :organizationId and environment = :environment
    and connection_id = :connectionId`,
});

/** What follows when the access of a connection has ended. */
export async function connectionExpired(scope: Scope, connectionId: string): Promise<void> {
  const found = await scope.one(findOfConnection, { connectionId });
  if (found) await stopSyncs(scope, found.id, 'auth_expired');
}
