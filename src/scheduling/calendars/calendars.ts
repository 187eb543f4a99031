import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { ConnectionServices } from '../../connections/index.ts';
import { clock } from '../../platform/clock.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { type CalendarStatus, isConnected, type Service } from '../core/calendar-status.ts';
import { calendarIds } from '../core/ids.ts';
import { calendarNotFound } from '../errors.ts';
import { Calendar, SandboxCalendar } from './calendar-entities.ts';

export interface CalendarView {
  id: string;
  hostId: string;
  service: Service;
  name: string;
  status: CalendarStatus;
  followChanges: boolean;
  lastSyncedAt: Date | null;
  lastError: { code: string; message: string; at: Date } | null;
  createdAt: Date;
}

/** Maximum per host: it bounds the data that each of its slots needs. */
export const maxCalendarsOfHost = 10;

const viewColumns = {
  id: 'uuid',
  hostId: 'uuid',
  service: typed<Service>('text'),
  name: 'text',
  status: typed<CalendarStatus>('text'),
  followChanges: 'boolean',
  lastSyncedAt: 'timestamptz?',
  lastErrorCode: 'text?',
  lastErrorMessage: 'text?',
  lastErrorAt: 'timestamptz?',
  createdAt: 'timestamptz',
} as const;

// An organization may have thousands, and entities would cost tens of milliseconds.
const findAll = statement({
  name: 'calendar.list',
  row: viewColumns,
  text: `select id, host_id as "hostId", service, name, status, follow_changes as "followChanges",
       last_synced_at as "lastSyncedAt", last_error_code as "lastErrorCode", last_error_message as "lastErrorMessage",
       last_error_at as "lastErrorAt", created_at as "createdAt"
     from calendar where organization_id = :organizationId and environment = :environment
    order by created_at desc, id desc`,
});

type ViewedRow = Pick<Calendar, keyof typeof viewColumns>;

const viewOfCalendar = (row: ViewedRow): CalendarView => ({
  id: row.id,
  hostId: row.hostId,
  service: row.service,
  name: row.name,
  status: row.status,
  followChanges: row.followChanges,
  lastSyncedAt: row.lastSyncedAt ?? null,
  createdAt: row.createdAt,
  lastError: row.lastErrorCode
    ? { code: row.lastErrorCode, message: row.lastErrorMessage ?? '', at: row.lastErrorAt! }
    : null,
});

/** Kinds of outbox entries. Their subject is the calendar. */
export const calendarWork = {
  /** Makes the Temporal Schedule as the calendar needs it, or removes it. */
  schedule: 'calendar.schedule',
  /** The same, and starts a sync. */
  sync: 'calendar.sync',
  /** Mails the contact that access was withdrawn. */
  notice: 'calendar.notice',
  /** Makes due the entries of bookings that the calendar lacks. */
  entries: 'calendar.entries',
} as const;

/** @param id in either form. @throws AppError not_found */
export async function lockCalendar(em: EntityManager, id: string): Promise<Calendar> {
  const uuid = calendarIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const found = uuid && (await em.findOne(Calendar, { id: uuid }, { lockMode }));
  if (!found) throw calendarNotFound(id);
  return found;
}

const noError = { lastErrorCode: null, lastErrorMessage: null, lastErrorAt: null };

interface NewCalendar {
  connectionId: string;
  service: Service;
  /** UUID. */
  hostId: string;
  accountName: string;
}

/**
 * Adds the primary calendar of an account that was connected, and begins its first sync after the commit. An account that
 * is connected again renews its calendar, for the host that is named now. Future bookings of the host that have no entry are
 * written into a calendar of the host after the commit.
 * @throws AppError conflict when the host has too many
 */
export async function createCalendar(
  tx: Transaction,
  { connectionId, service, hostId, accountName }: NewCalendar,
): Promise<CalendarView> {
  await lockForTransaction(tx, `calendars of ${hostId}`);
  const now = clock.date();
  const name = accountName.slice(0, 200);
  const known = await tx.em.findOne(Calendar, { connectionId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  if (known?.hostId !== hostId && (await tx.em.count(Calendar, { hostId })) >= maxCalendarsOfHost) {
    const message = `A host has at most ${maxCalendarsOfHost} calendars.`;
    throw new AppError('conflict', message, { limit: maxCalendarsOfHost });
  }
  const calendar =
    known ??
    tx.em.create(Calendar, {
      id: newId(),
      ...tx.tenant,
      hostId,
      connectionId,
      service,
      name,
      status: 'syncing',
      followChanges: false,
      lastSyncedAt: null,
      ...noError,
      generation: 0,
      syncToken: null,
      windowStartsAt: null,
      windowEndsAt: null,
      baselinedAt: null,
      syncId: null,
      baseline: null,
      channelId: null,
      channelResource: null,
      channelEndsAt: null,
      createdAt: now,
      updatedAt: now,
    });
  if (known) {
    // Starts anew, because changes during the time without access are read as a whole.
    const afresh = { status: 'syncing', syncToken: null, baseline: null, syncId: null } as const;
    Object.assign(known, { hostId, name, ...afresh, ...noError, updatedAt: now });
    await tx.em.nativeUpdate(SandboxCalendar, { calendarId: known.id, fault: ['revoked', 'gone'] }, { fault: null });
  } else tx.em.persist(calendar);
  await tx.enqueue(calendarWork.sync, calendar.id);
  await tx.enqueue(calendarWork.entries, calendar.id);
  const view = viewOfCalendar(calendar);
  await tx.audit({ action: 'calendar.connect', subjectId: calendar.id });
  return view;
}

/** Newest first. */
export async function listCalendars(scope: Scope): Promise<CalendarView[]> {
  return (await scope.rows(findAll)).map(viewOfCalendar);
}

/**
 * Begins a sync after the commit; while one runs, one more follows it.
 * @param id in either form. @throws AppError not_found, conflict when there is no access
 */
export function requestSync(scope: Scope, id: string): Promise<CalendarView> {
  return scope.transaction(async (tx) => {
    const calendar = await lockCalendar(tx.em, id);
    const { status } = calendar;
    if (!isConnected(status)) throw new AppError('conflict', 'Connect the calendar again first.', { status });
    calendar.status = 'syncing';
    await tx.enqueue(calendarWork.sync, calendar.id);
    return viewOfCalendar(calendar);
  });
}

/** Changes only the given fields. @param id in either form. @throws AppError not_found */
export function updateCalendar(
  scope: Scope,
  id: string,
  { followChanges }: { followChanges?: boolean | undefined },
): Promise<CalendarView> {
  return scope.transaction(async (tx) => {
    const calendar = await lockCalendar(tx.em, id);
    if (followChanges !== undefined && followChanges !== calendar.followChanges) {
      Object.assign(calendar, { followChanges, updatedAt: clock.date() });
      await tx.audit({ action: 'calendar.update', subjectId: calendar.id, facts: { followChanges } });
    }
    return viewOfCalendar(calendar);
  });
}

/**
 * Forgets a calendar with its busy times, and ends the access to its account. Events that were written into it stay there.
 * @param id in either form. @throws AppError not_found
 */
export async function deleteCalendar(
  { connections }: Pick<ConnectionServices, 'connections'>,
  scope: Scope,
  id: string,
): Promise<void> {
  const uuid = calendarIds.parse(id);
  const found = uuid && (await scope.read((em) => em.findOne(Calendar, { id: uuid })));
  if (!found) throw calendarNotFound(id);
  // The request to the provider precedes the removal of the tokens, and is outside of the transaction.
  const revoked = await connections.revokeAtProvider(scope, found.connectionId);
  const erased = await scope.transaction(async (tx) => {
    // First, as where access ends: a transaction that locked the calendar before its tokens could block that one for ever.
    const grant = await connections.detach(tx, found.connectionId);
    const calendar = await lockCalendar(tx.em, id);
    tx.em.remove(calendar);
    await tx.enqueue(calendarWork.schedule, calendar.id);
    await tx.audit({ action: 'calendar.delete', subjectId: calendar.id });
    return grant;
  });
  // The account was connected again while the provider was asked.
  if (erased && erased.token !== revoked?.token) await connections.revokeGrant(erased);
}
