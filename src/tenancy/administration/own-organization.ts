import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { systemTransaction } from '../../platform/database/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { AuditAuthor } from '../../platform/security/audit.ts';
import { organizationIds } from '../core/ids.ts';
import type { PlanName } from '../core/plans.ts';
import { announceKeyChange, notifyKeyChange } from '../key-changes.ts';

const columns = {
  id: 'uuid',
  name: 'text',
  slug: 'text',
  contactEmail: 'text?',
  plan: typed<PlanName>('text'),
  createdAt: 'timestamptz',
} as const;

const selected = 'id, name, slug, email as "contactEmail", plan, created_at as "createdAt"';

const find = systemStatement({
  name: 'own_organization.find',
  parameters: { id: 'uuid' },
  row: columns,
  text: `select ${selected} from organization where id = :id and deleted_at is null`,
});
const lock = systemStatement({
  name: 'own_organization.lock',
  parameters: { id: 'uuid' },
  row: columns,
  text: `select ${selected} from organization where id = :id and deleted_at is null for update`,
});
const change = systemStatement({
  name: 'own_organization.change',
  parameters: { id: 'uuid', name: 'text', slug: 'text', contactEmail: 'text?' },
  row: columns,
  text: `update organization set name = :name, slug = :slug, email = :contactEmail, updated_at = atelier_now()
    where id = :id returning ${selected}`,
});

export interface OwnOrganization {
  /** Canonical uuid. */
  id: string;
  name: string;
  slug: string;
  contactEmail: string | null;
  plan: PlanName;
  createdAt: Date;
}

interface OwnOrganizationChange {
  name?: string | undefined;
  slug?: string | undefined;
  contactEmail?: string | undefined;
}

const gone = (id: string) => new AppError('not_found', `No organization has the id ${organizationIds.format(id)}.`);

/** @throws AppError not_found */
export async function findOwnOrganization(database: Database, id: string): Promise<OwnOrganization> {
  const found = await sqlOn(database.pool).one(find, { id });
  if (!found) throw gone(id);
  return found;
}

const isTaken = (error: unknown) =>
  (error as { code?: string; constraint?: string }).code === '23505' &&
  (error as { constraint?: string }).constraint === 'organization_slug_unique';

/**
 * Changes the given fields. When it returns, the change is effective in every process.
 * @throws AppError not_found; conflict where another organization has the slug
 */
export async function changeOwnOrganization(
  database: Database,
  id: string,
  changes: OwnOrganizationChange,
  by: AuditAuthor,
): Promise<OwnOrganization> {
  const work = systemTransaction(database, async (tx) => {
    const before = await tx.one(lock, { id });
    if (!before) throw gone(id);
    const { name = before.name, slug = before.slug, contactEmail = before.contactEmail } = changes;
    if (name === before.name && slug === before.slug && contactEmail === before.contactEmail) return before;
    const after = (await tx.one(change, { id, name, slug, contactEmail }))!;
    await tx.rows(notifyKeyChange, { organizationId: id });
    // Never an address: the log is not erased.
    const facts = { name, slug, given: Object.keys(changes), before: { name: before.name, slug: before.slug } };
    await tx.audit({ organizationId: id, subjectId: id, action: 'organization.update', facts, ...by });
    return after;
  });
  const changed = await work.catch((error: unknown) => {
    if (isTaken(error)) throw new AppError('conflict', 'Another organization has this slug.');
    throw error;
  });
  await announceKeyChange(database, id);
  return changed;
}
