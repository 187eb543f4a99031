import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { AppError } from '../platform/errors.ts';
import type { IdempotencyClaim, Once } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { Calendar } from './calendar-entities.ts';
import { hostIds } from './core/ids.ts';
import { SchedulingEventType, SchedulingHost } from './entities.ts';
import { hostNotFound } from './errors.ts';
import { requireRoom } from './plan-room.ts';
import { defaultWeek, type Week } from './settings-records.ts';

export interface HostFields {
  name: string;
  email: string | null;
  /** A name of the tz database. */
  timezone: string;
}

export interface Host extends HostFields {
  id: string;
  isDefault: boolean;
  weeklyHours: Week;
}

export type HostChange = { [Field in keyof HostFields]?: HostFields[Field] | undefined };

const columns = `id, name, email, timezone, is_default as "isDefault", weekly_hours as "weeklyHours"`;
const live = 'organization_id = $1 and environment = $2 and deleted_at is null';

const findDefault = statement<Host>(
  'host.default',
  `select ${columns} from scheduling_host where ${live} and is_default`,
);
const makeDefault = statement(
  'host.make_default',
  `insert into scheduling_host (id, organization_id, environment, name, email, is_default, timezone, weekly_hours,
                                created_at, updated_at)
   values ($3::uuid, $1::uuid, $2::text, 'Default', null, true, 'UTC', $4::jsonb, clock_timestamp(), clock_timestamp())
   on conflict (organization_id, environment) where is_default do nothing`,
);
const findOne = statement<Host>('host.by_id', `select ${columns} from scheduling_host where ${live} and id = $3`);
const findAll = statement<Host>(
  'host.list',
  `select ${columns} from scheduling_host where ${live} order by created_at desc, id desc`,
);

/** The host of event types that name none. It is made when it is first asked for. */
export async function defaultHost(scope: Scope): Promise<Host> {
  const found = await scope.one(findDefault);
  if (found) return found;
  await scope.rows(makeDefault, newId(), JSON.stringify(defaultWeek));
  return (await scope.one(findDefault))!;
}

/** @param id in either form; null or undefined for the default host. @throws AppError not_found */
export async function getHost(scope: Scope, id: string | null | undefined): Promise<Host> {
  if (id === null || id === undefined) return defaultHost(scope);
  const uuid = hostIds.parse(id);
  const found = uuid && (await scope.one(findOne, uuid));
  if (!found) throw hostNotFound(id);
  return found;
}

/** Newest first; the plan limits how many there are. */
export async function listHosts(scope: Scope): Promise<Host[]> {
  await defaultHost(scope);
  return scope.rows(findAll);
}

const viewOf = ({ id, name, email, timezone, isDefault, weeklyHours }: SchedulingHost): Host => ({
  ...{ id, name, email: email ?? null, timezone, isDefault, weeklyHours },
});

async function lockHost(em: EntityManager, id: string): Promise<SchedulingHost> {
  const uuid = hostIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_WRITE;
  const found = uuid && (await em.findOne(SchedulingHost, { id: uuid, deletedAt: null }, { lockMode }));
  if (!found) throw hostNotFound(id);
  return found;
}

/**
 * Finds the host that an event type is to have, and keeps it from being deleted until the commit.
 * @returns its canonical id. @throws AppError not_found
 */
export async function keepHost(tx: Transaction, id: string): Promise<string> {
  const uuid = hostIds.parse(id);
  const lockMode = LockMode.PESSIMISTIC_READ;
  const found = uuid && (await tx.em.findOne(SchedulingHost, { id: uuid, deletedAt: null }, { lockMode }));
  if (!found) throw hostNotFound(id);
  return found.id;
}

/** Creates a host with usual hours, once per Idempotency-Key. @throws AppError forbidden when the plan includes no more */
export function createHost(scope: Scope, fields: HostFields, claim?: IdempotencyClaim): Promise<Once<Host>> {
  const create = async (tx: Transaction) => {
    await requireRoom(tx, 'hosts');
    const now = new Date();
    const made = tx.em.create(SchedulingHost, {
      ...{ id: newId(), ...scope.tenant, ...fields, isDefault: false, weeklyHours: defaultWeek },
      ...{ createdAt: now, updatedAt: now, deletedAt: null },
    });
    tx.em.persist(made);
    await tx.audit({ action: 'host.create', subjectId: made.id });
    return viewOf(made);
  };
  return scope.transaction(create, { claim });
}

/** Changes only the given fields. @throws AppError not_found */
export function updateHost(scope: Scope, id: string, change: HostChange): Promise<Host> {
  return scope.transaction(async (tx) => {
    const host = await lockHost(tx.em, id);
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 0) return viewOf(host);
    Object.assign(host, Object.fromEntries(given), { updatedAt: new Date() });
    await tx.audit({ action: 'host.update', subjectId: host.id, facts: { given: given.map(([name]) => name) } });
    return viewOf(host);
  });
}

/** Sets when a host can be booked. @param id null for the default host. @throws AppError not_found */
export async function putHours(
  scope: Scope,
  id: string | null,
  { timezone, weeklyHours }: Pick<Host, 'timezone' | 'weeklyHours'>,
): Promise<Host> {
  const { id: hostId } = await getHost(scope, id);
  return scope.transaction(async (tx) => {
    const host = await lockHost(tx.em, hostId);
    Object.assign(host, { timezone, weeklyHours, updatedAt: new Date() });
    await tx.audit({ action: 'host.update', subjectId: host.id, facts: { given: ['timezone', 'weeklyHours'] } });
    return viewOf(host);
  });
}

/**
 * Deletes a host; its bookings stay.
 * @throws AppError not_found, conflict when it is the default host, an event type names it, or it has calendars
 */
export function deleteHost(scope: Scope, id: string): Promise<void> {
  return scope.transaction(async (tx) => {
    const host = await lockHost(tx.em, id);
    if (host.isDefault) throw new AppError('conflict', 'The default host cannot be deleted.');
    const eventTypes = await tx.em.count(SchedulingEventType, { hostId: host.id, deletedAt: null });
    if (eventTypes > 0) throw new AppError('conflict', 'Event types name this host.', { eventTypes });
    const calendars = await tx.em.count(Calendar, { hostId: host.id });
    if (calendars > 0) throw new AppError('conflict', 'Calendars of this host are connected.', { calendars });
    host.deletedAt = new Date();
    await tx.audit({ action: 'host.delete', subjectId: host.id });
  });
}
