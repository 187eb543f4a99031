import { systemStatement } from '../platform/database/sql.ts';
import type { UnitOfWork } from '../platform/database/unit-of-work.ts';
import type { RequestOrigin } from '../platform/security/audit.ts';
import { createOrganizationIn } from '../tenancy/index.ts';
import { userIds } from './core/ids.ts';
import { addMember } from './invitations.ts';

/** The plan of an organization that a person makes by signing up: that of `org create` without a contract. */
const plan = 'free';

const find = systemStatement({
  name: 'sign_up.find_person',
  parameters: { userId: 'uuid' },
  row: { name: 'text', email: 'text', isMember: 'boolean' },
  text: `select u.name, u.email, exists (
      select from auth."member" m join organization o on o.id = m."organizationId" and o.deleted_at is null
       where m."userId" = u.id) as "isMember"
     from auth."user" u where u.id = :userId`,
});

/** How a person signs in, for what follows from it. */
export interface Entry {
  origin: RequestOrigin;
  /**
   * Counts an organization that a person without one is given, where everybody may sign up.
   * @throws AppError rate_limit_exceeded
   */
  countOrganization?: (() => Promise<void>) | undefined;
}

/** Gives a person who belongs to no organization one of their own, where everybody may sign up. */
export async function ensureOrganization(tx: UnitOfWork, userId: string, entry: Entry): Promise<void> {
  if (!entry.countOrganization) return;
  const { name, email, isMember } = (await tx.one(find, { userId }))!;
  if (isMember) return;
  await entry.countOrganization();
  const by = { actor: userIds.format(userId), origin: entry.origin };
  const organization = await createOrganizationIn(tx, { name: name.trim() || email, plan }, by);
  await addMember(tx, { organizationId: organization.id, userId, role: 'owner' }, by);
}
