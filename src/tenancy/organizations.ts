import { LockMode } from '@mikro-orm/postgresql';
import { z } from 'zod';
import { operator } from '../platform/audit.ts';
import type { Database } from '../platform/database.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { systemTransaction } from '../platform/unit-of-work.ts';
import { organizationIds } from './core/ids.ts';
import { isPlanName, type PlanName, planNames } from './core/plans.ts';
import { Organization } from './entities.ts';
import { announceKeyChange } from './key-cache.ts';

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

const changeable = ['name', 'plan', 'email', 'rateMinute', 'rateDay', 'callingRuns'];

export type NewOrganization = OrganizationChange & { name: string; plan: string };

const view = (organization: Organization): OrganizationView => ({
  id: organizationIds.format(organization.id),
  name: organization.name,
  plan: organization.plan as PlanName,
});

/** As browsers check it: no list of addresses, no name beside the address. */
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
  check(input);
  const now = new Date();
  return systemTransaction(database, async (tx) => {
    const organization = tx.em.create(Organization, {
      id: newId(),
      name: input.name,
      plan: input.plan,
      email: input.email ?? null,
      rateMinute: input.rateMinute ?? null,
      rateDay: input.rateDay ?? null,
      callingRuns: input.callingRuns ?? null,
      deletedAt: null,
      purgingAt: null,
      createdAt: now,
      updatedAt: now,
    });
    tx.em.persist(organization);
    await tx.audit({
      organizationId: organization.id,
      subjectId: organization.id,
      actor: operator,
      action: 'organization.create',
      facts: auditFacts(organization),
    });
    return view(organization);
  });
}

/** Finds by `org_…` or uuid. @throws AppError not_found */
export async function findOrganization(database: Database, id: string): Promise<Organization> {
  const uuid = organizationIds.parse(id);
  const organization = uuid && (await database.orm.em.fork().findOne(Organization, { id: uuid }));
  if (!organization) throw new AppError('not_found', `No organization has the id ${id}.`);
  return organization;
}

/** All organizations, oldest first. `deletedAt` is present where one was deleted. */
export async function listOrganizations(
  database: Database,
): Promise<(OrganizationView & { createdAt: Date; deletedAt?: Date })[]> {
  const all = await database.orm.em.fork().findAll(Organization, { orderBy: { id: 'asc' } });
  return all.map((organization) => ({
    ...view(organization),
    createdAt: organization.createdAt,
    ...(organization.deletedAt && { deletedAt: organization.deletedAt }),
  }));
}

/** The ids of all organizations, as canonical uuids, oldest first. */
export async function listOrganizationIds(database: Database): Promise<string[]> {
  const all = await database.orm.em.fork().findAll(Organization, { fields: ['id'], orderBy: { id: 'asc' } });
  return all.map(({ id }) => id);
}

export async function organizationExists(database: Database, id: string): Promise<boolean> {
  const uuid = organizationIds.parse(id);
  return uuid !== undefined && (await database.orm.em.fork().count(Organization, { id: uuid })) > 0;
}

/**
 * Changes the given fields. When it returns, the change is effective in every process.
 * @throws AppError not_found, validation_error
 */
export async function updateOrganization(
  database: Database,
  id: string,
  change: OrganizationChange,
): Promise<OrganizationView> {
  check(change);
  const { id: uuid } = await findOrganization(database, id);
  const changed = await systemTransaction(database, async (tx) => {
    const organization = await tx.em.findOneOrFail(Organization, { id: uuid });
    const given = Object.entries(change).filter(([name, value]) => changeable.includes(name) && value !== undefined);
    if (given.length === 0) return view(organization);
    Object.assign(organization, Object.fromEntries(given), { updatedAt: new Date() });
    await tx.audit({
      organizationId: uuid,
      subjectId: uuid,
      actor: operator,
      action: 'organization.update',
      facts: { given: given.map(([name]) => name), ...auditFacts(organization) },
    });
    return view(organization);
  });
  await announceKeyChange(database);
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
): Promise<{ id: string; deletedAt: Date; removedAfter: Date }> {
  const { id: uuid } = await findOrganization(database, id);
  const deletedAt = await systemTransaction(database, async (tx) => {
    const organization = await tx.em.findOneOrFail(
      Organization,
      { id: uuid },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (organization.deletedAt) return organization.deletedAt;
    const now = new Date();
    Object.assign(organization, { deletedAt: now, updatedAt: now });
    await tx.audit({ organizationId: uuid, subjectId: uuid, actor: operator, action: 'organization.delete' });
    return now;
  });
  await announceKeyChange(database);
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
    const organization = await tx.em.findOneOrFail(
      Organization,
      { id: uuid },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (!organization.deletedAt) throw new AppError('conflict', 'The organization was not deleted.');
    if (organization.purgingAt) throw new AppError('conflict', 'The organization is being removed.');
    Object.assign(organization, { deletedAt: null, updatedAt: new Date() });
    await tx.audit({ organizationId: uuid, subjectId: uuid, actor: operator, action: 'organization.restore' });
    return view(organization);
  });
  await announceKeyChange(database);
  return restored;
}
