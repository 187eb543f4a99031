import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { clock } from '../platform/clock.ts';
import type { IdempotencyClaim, Once } from '../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { defaultWeek, type Week } from './availability/settings-records.ts';
import { hostIds } from './core/ids.ts';
import { SchedulingHost } from './entities.ts';
import { hostNotFound } from './errors.ts';
import { enforcePlanLimit } from './plan-limits.ts';

interface HostFields {
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

/** In SQL. The first host is called as its organization until it is renamed. @param host the table's name in the statement */
export const hostName = (host: string): string =>
  `case when ${host}.is_default and ${host}.renamed_at is null
        then (select name from organization where id = ${host}.organization_id) else ${host}.name end`;

const columns = `id, ${hostName('scheduling_host')} as name, email, timezone, is_default as "isDefault",
  weekly_hours as "weeklyHours"`;
const live = 'organization_id = :organizationId and environment = :environment and deleted_at is null';

const hostColumns = {
  id: 'uuid',
  name: 'text',
  email: 'text?',
  timezone: 'text',
  isDefault: 'boolean',
  weeklyHours: typed<Week>('json'),
} as const;

const findDefault = statement({
  name: 'host.default',
  row: hostColumns,
  text: `select ${columns} from scheduling_host where ${live} and is_default`,
});
const makeDefault = statement({
  name: 'host.make_default',
  parameters: { id: 'uuid', defaultWeek: 'json' },
  text: `insert into scheduling_host (id, organization_id, environment, name, email, is_default, timezone, weekly_hours,
                                created_at, updated_at)
   values (:id, :organizationId, :environment, 'Default', null, true, 'UTC', :defaultWeek, atelier_now(),
     atelier_now())
   on conflict (organization_id, environment) where is_default do nothing`,
});
const findOne = statement({
  name: 'host.by_id',
  parameters: { id: 'uuid' },
  row: hostColumns,
  text: `select ${columns} from scheduling_host where ${live} and id = :id`,
});
const keepNamed = statement({
  name: 'host.keep_named',
  parameters: { wanted: 'uuid[]' },
  row: { id: 'uuid' },
  text: `select id from scheduling_host where ${live} and id = any(:wanted) for share`,
});
const findAll = statement({
  name: 'host.list',
  row: hostColumns,
  text: `select ${columns} from scheduling_host where ${live} order by created_at desc, id desc`,
});

/** The host of event types that name none. It is created on first use. */
export async function defaultHost(scope: Scope): Promise<Host> {
  const found = await scope.one(findDefault);
  if (found) return found;
  await scope.rows(makeDefault, { id: newId(), defaultWeek: JSON.stringify(defaultWeek) });
  return (await scope.one(findDefault))!;
}

/** @param id in either form; null or undefined for the default host. @throws AppError not_found */
export async function getHost(scope: Scope, id: string | null | undefined): Promise<Host> {
  if (id === null || id === undefined) return defaultHost(scope);
  const uuid = hostIds.parse(id);
  const found = uuid && (await scope.one(findOne, { id: uuid }));
  if (!found) throw hostNotFound(id);
  return found;
}

/** Newest first; the plan limits how many there are. */
export async function listHosts(scope: Scope): Promise<Host[]> {
  await defaultHost(scope);
  return scope.rows(findAll);
}

const viewOf = ({ id, name, email, timezone, isDefault, weeklyHours }: SchedulingHost): Host => ({
  id,
  name,
  email: email ?? null,
  timezone,
  isDefault,
  weeklyHours,
});

/** @param id in either form. @throws AppError not_found */
export async function lockHost(em: EntityManager, id: string): Promise<SchedulingHost> {
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

/** A host that a setting names, and the path of its id in the request. */
interface NamedHost {
  hostId: string;
  path: string;
}

/**
 * Finds the hosts that settings name, and keeps them from being deleted until the commit.
 * @returns their canonical ids by what was given
 * @throws AppError validation_error with the path of each unknown host
 */
export async function keepNamedHosts(tx: Transaction, named: readonly NamedHost[]): Promise<Map<string, string>> {
  const given = new Map(named.flatMap(({ hostId }) => [[hostId, hostIds.parse(hostId)] as const]));
  const wanted = [...new Set([...given.values()].filter((id) => id !== undefined))];
  const rows = wanted.length === 0 ? [] : await tx.rows(keepNamed, { wanted });
  const known = new Set(rows.map(({ id }) => id));
  const problems = named.flatMap(({ hostId, path }) =>
    known.has(given.get(hostId) ?? '') ? [] : [{ path, message: 'No host has this id.' }],
  );
  if (problems.length > 0) throw invalid(problems);
  return given as Map<string, string>;
}

/** Creates a host with usual hours, once per Idempotency-Key. @throws AppError forbidden when the plan includes no more */
export function createHost(scope: Scope, fields: HostFields, claim?: IdempotencyClaim): Promise<Once<Host>> {
  const create = async (tx: Transaction) => {
    await enforcePlanLimit(tx, 'hosts');
    const now = clock.date();
    const made = tx.em.create(SchedulingHost, {
      id: newId(),
      ...scope.tenant,
      ...fields,
      isDefault: false,
      weeklyHours: defaultWeek,
      limits: null,
      renamedAt: null,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
    });
    tx.em.persist(made);
    await tx.audit({ action: 'host.create', subjectId: made.id });
    return viewOf(made);
  };
  return scope.transaction(create, { claim });
}

/** Changes only the given fields. @throws AppError not_found */
export async function updateHost(scope: Scope, id: string, change: HostChange): Promise<Host> {
  await scope.transaction(async (tx) => {
    const host = await lockHost(tx.em, id);
    const given = Object.entries(change).filter(([, value]) => value !== undefined);
    if (given.length === 0) return;
    const now = clock.date();
    Object.assign(host, Object.fromEntries(given), { updatedAt: now });
    if (change.name !== undefined) host.renamedAt = now;
    await tx.audit({ action: 'host.update', subjectId: host.id, facts: { given: given.map(([name]) => name) } });
  });
  return getHost(scope, id);
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
    Object.assign(host, { timezone, weeklyHours, updatedAt: clock.date() });
    await tx.audit({ action: 'host.update', subjectId: host.id, facts: { given: ['timezone', 'weeklyHours'] } });
    return viewOf(host);
  });
}
