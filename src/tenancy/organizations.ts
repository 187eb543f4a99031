import { z } from 'zod';
import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction, type UnitOfWork } from '../platform/database/unit-of-work.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { type AuditAuthor, operator } from '../platform/security/audit.ts';
import { organizationIds } from './core/ids.ts';
import { isPlanName, type PlanName, planNames } from './core/plans.ts';
import type { Organization } from './entities.ts';
import { announceKeyChange, notifyKeyChange } from './key-changes.ts';

export interface OrganizationView {
  /** `org_…` */
  id: string;
  name: string;
  plan: PlanName;
}

export interface OrganizationChange {
  name?: string;
  plan?: string;
  email?: string;
  /** Requests per minute; overrides the plan's. */
  rateMinute?: number;
  /** Requests per UTC day; overrides the plan's. */
  rateDay?: number;
  /** Runs that call out at the same time; overrides the plan's. */
  callingRuns?: number;
}

const changeable = ['name', 'plan', 'email', 'rateMinute', 'rateDay', 'callingRuns'] as const;

type NewOrganization = OrganizationChange & { name: string; plan: string };

const view = (organization: Organization): OrganizationView => ({
  id: organizationIds.format(organization.id),
  name: organization.name,
  plan: organization.plan as PlanName,
});

// Statements and not entities: each of an operator's commands is a process of its own, and loading the entity manager
// takes longer than all else that it does.
const columns = `id, name, slug, plan, email, rate_minute as "rateMinute", rate_day as "rateDay", calling_runs as "callingRuns",
  deleted_at as "deletedAt", purging_at as "purgingAt", created_at as "createdAt", updated_at as "updatedAt"`;

const organizationColumns = {
  id: 'uuid',
  name: 'text',
  slug: 'text',
  plan: 'text',
  email: 'text?',
  rateMinute: 'int?',
  rateDay: 'int?',
  callingRuns: 'int?',
  deletedAt: 'timestamptz?',
  purgingAt: 'timestamptz?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
} as const;

/** What an organization is created and changed with. */
const written = {
  id: 'uuid',
  name: 'text',
  plan: 'text',
  email: 'text?',
  rateMinute: 'int?',
  rateDay: 'int?',
  callingRuns: 'int?',
  now: 'timestamptz',
} as const;

const insert = systemStatement({
  name: 'organization.create',
  parameters: written,
  row: organizationColumns,
  text: `insert into organization (id, name, plan, email, rate_minute, rate_day, calling_runs, created_at, updated_at)
   values (:id, :name, :plan, :email, :rateMinute, :rateDay, :callingRuns, :now, :now) returning ${columns}`,
});
const findById = systemStatement({
  name: 'organization.find',
  parameters: { id: 'uuid' },
  row: organizationColumns,
  text: `select ${columns} from organization where id = :id`,
});
const findAll = systemStatement({
  name: 'organization.list',
  row: organizationColumns,
  text: `select ${columns} from organization order by id`,
});
const findIds = systemStatement({
  name: 'organization.ids',
  row: { id: 'uuid' },
  text: 'select id from organization order by id',
});
const lockById = systemStatement({
  name: 'organization.lock',
  parameters: { id: 'uuid' },
  row: organizationColumns,
  text: `select ${columns} from organization where id = :id for update`,
});
const change = systemStatement({
  name: 'organization.change',
  parameters: written,
  text: `update organization
      set name = :name, plan = :plan, email = :email, rate_minute = :rateMinute, rate_day = :rateDay,
        calling_runs = :callingRuns, updated_at = :now
    where id = :id`,
});
const setDeleted = systemStatement({
  name: 'organization.set_deleted',
  parameters: { id: 'uuid', deletedAt: 'timestamptz?', now: 'timestamptz' },
  text: 'update organization set deleted_at = :deletedAt, updated_at = :now where id = :id',
});

/** Checked as browsers do: no list of addresses, no name beside the address. */
const oneAddress = z.email({ pattern: z.regexes.html5Email }).max(320);

const isLimit = (value: number | undefined) =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= 2_000_000_000);

function check({ name, plan, email, rateMinute, rateDay, callingRuns }: OrganizationChange): void {
  const errors = [];
  if (name !== undefined && (name.trim() === '' || name.length > 200)) {
    errors.push({ path: 'name', message: 'Expected 1 to 200 characters.' });
  }
  if (plan !== undefined && !isPlanName(plan)) {
    errors.push({ path: 'plan', message: `Expected one of ${planNames.join(', ')}.` });
  }
  if (email !== undefined && !oneAddress.safeParse(email).success) {
    errors.push({ path: 'email', message: 'Expected one e-mail address.' });
  }
  for (const [path, limit] of Object.entries({ rateMinute, rateDay, callingRuns })) {
    if (!isLimit(limit)) errors.push({ path, message: 'Expected a whole number of at least 1.' });
  }
  if (errors.length > 0) throw invalid(errors, errors.map((error) => `${error.path}: ${error.message}`).join(' '));
}

/** The fields recorded in the audit log. It is never erased, so it must not contain e-mail addresses. */
const auditFacts = ({ name, plan, rateMinute, rateDay, callingRuns }: Organization) => ({
  name,
  plan,
  rateMinute,
  rateDay,
  ...(callingRuns !== null && { callingRuns }),
});

/** @throws AppError validation_error */
export async function createOrganization(database: Database, input: NewOrganization): Promise<OrganizationView> {
  const created = systemTransaction(database, (tx) => createOrganizationIn(tx, input, { actor: operator }));
  return view(await created);
}

/** The same in a transaction of the caller's. @throws AppError validation_error */
export async function createOrganizationIn(
  tx: UnitOfWork,
  input: NewOrganization,
  by: AuditAuthor,
): Promise<Organization> {
  check(input);
  const { name, plan, email = null, rateMinute = null, rateDay = null, callingRuns = null } = input;
  const given = { name, plan, email, rateMinute, rateDay, callingRuns };
  const organization = await tx.one(insert, { id: newId(), ...given, now: clock.date() });
  if (!organization) throw new Error('An insert returned nothing.');
  await tx.audit({
    organizationId: organization.id,
    subjectId: organization.id,
    action: 'organization.create',
    facts: auditFacts(organization),
    ...by,
  });
  return organization;
}

/** Other changes of this organization wait until the transaction ends. @throws AppError not_found */
async function lock(tx: UnitOfWork, id: string): Promise<Organization> {
  const organization = await tx.one(lockById, { id });
  if (!organization) throw new AppError('not_found', `No organization has the id ${organizationIds.format(id)}.`);
  return organization;
}

/** Finds by `org_…` or uuid. @throws AppError not_found */
export async function findOrganization(database: Database, id: string): Promise<Organization> {
  const uuid = organizationIds.parse(id);
  const organization = uuid && (await sqlOn(database.pool).one(findById, { id: uuid }));
  if (!organization) throw new AppError('not_found', `No organization has the id ${id}.`);
  return organization;
}

/** All organizations, oldest first. `deletedAt` is present where one was deleted. */
export async function listOrganizations(
  database: Database,
): Promise<(OrganizationView & { createdAt: Date; deletedAt?: Date })[]> {
  const all = await sqlOn(database.pool).rows(findAll);
  return all.map((organization) => ({
    ...view(organization),
    createdAt: organization.createdAt,
    ...(organization.deletedAt && { deletedAt: organization.deletedAt }),
  }));
}

/** The ids of all organizations, as canonical uuids, oldest first. */
export async function listOrganizationIds(database: Database): Promise<string[]> {
  const all = await sqlOn(database.pool).rows(findIds);
  return all.map(({ id }) => id);
}

export async function organizationExists(database: Database, id: string): Promise<boolean> {
  const uuid = organizationIds.parse(id);
  return uuid !== undefined && (await sqlOn(database.pool).one(findById, { id: uuid })) !== undefined;
}

/**
 * Changes the given fields. When it returns, the change is effective in every process.
 * @throws AppError not_found, validation_error
 */
export async function updateOrganization(
  database: Database,
  id: string,
  changes: OrganizationChange,
): Promise<OrganizationView> {
  check(changes);
  const { id: uuid } = await findOrganization(database, id);
  const changed = await systemTransaction(database, async (tx) => {
    const before = await lock(tx, uuid);
    const given = changeable.filter((name) => changes[name] !== undefined);
    if (given.length === 0) return view(before);
    const organization = { ...before, ...Object.fromEntries(given.map((name) => [name, changes[name]])) };
    const { name, plan, email = null, rateMinute = null, rateDay = null, callingRuns = null } = organization;
    await tx.rows(change, { id: uuid, name, plan, email, rateMinute, rateDay, callingRuns, now: clock.date() });
    await tx.rows(notifyKeyChange, { organizationId: uuid });
    await tx.audit({
      organizationId: uuid,
      subjectId: uuid,
      actor: operator,
      action: 'organization.update',
      facts: { given, ...auditFacts(organization) },
    });
    return view(organization);
  });
  await announceKeyChange(database, uuid);
  return changed;
}

/** Days in which a deleted organization can be restored. */
export const restorableDays = 30;

/**
 * Deletes an organization: when it returns, every process refuses its keys; its schedules and deliveries stop. It can be
 * restored for 30 days and is then removed with everything that it has. Deleting it again changes nothing.
 * @throws AppError not_found
 */
export async function deleteOrganization(
  database: Database,
  id: string,
  by: AuditAuthor = { actor: operator },
): Promise<{ id: string; deletedAt: Date; removedAfter: Date }> {
  const { id: uuid } = await findOrganization(database, id);
  const deletedAt = await systemTransaction(database, async (tx) => {
    const organization = await lock(tx, uuid);
    if (organization.deletedAt) return organization.deletedAt;
    const now = clock.date();
    await tx.rows(setDeleted, { id: uuid, deletedAt: now, now });
    await tx.rows(notifyKeyChange, { organizationId: uuid });
    await tx.audit({ organizationId: uuid, subjectId: uuid, action: 'organization.delete', ...by });
    return now;
  });
  await announceKeyChange(database, uuid);
  const removedAfter = new Date(deletedAt.getTime() + restorableDays * 86_400_000);
  return { id: organizationIds.format(uuid), deletedAt, removedAfter };
}

/**
 * Undoes the deletion of an organization. Its schedules start again within a minute.
 * @throws AppError not_found; conflict when it was not deleted, or its removal has begun
 */
export async function restoreOrganization(database: Database, id: string): Promise<OrganizationView> {
  const { id: uuid } = await findOrganization(database, id);
  const restored = await systemTransaction(database, async (tx) => {
    const organization = await lock(tx, uuid);
    if (!organization.deletedAt) throw new AppError('conflict', 'The organization was not deleted.');
    if (organization.purgingAt) throw new AppError('conflict', 'The organization is being removed.');
    await tx.rows(setDeleted, { id: uuid, deletedAt: null, now: clock.date() });
    await tx.rows(notifyKeyChange, { organizationId: null });
    await tx.audit({ organizationId: uuid, subjectId: uuid, actor: operator, action: 'organization.restore' });
    return view(organization);
  });
  // Its keys, which were refused, are valid again.
  await announceKeyChange(database);
  return restored;
}
