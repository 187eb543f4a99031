import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import { AppError } from '../platform/errors.ts';
import type { RequestOrigin } from '../platform/security/audit.ts';
import { identityIds, userIds } from './core/ids.ts';

// Identities of the OpenID provider by which a person signs in.

/** More are not listed: each is another account of one person at the provider. */
const maxListed = 100;
/** Organizations of one person whose audit logs record it. */
const maxRecorded = 100;

/**
 * An account is named by its issuer and its subject, with a space between them. A slash at the issuer's end is ignored.
 */
const issuerOf = (accountId: string) => `rtrim(split_part(${accountId}, ' ', 1), '/')`;
const columns = `id, ${issuerOf('"accountId"')} as issuer, "createdAt" from auth."account"
   where "userId" = :userId and "providerId" = 'oidc'`;
const row = { id: 'uuid', issuer: 'text', createdAt: 'timestamptz' } as const;

const list = systemStatement({
  name: 'own_identity.list',
  parameters: { userId: 'uuid' },
  row,
  text: `select ${columns} order by id limit ${maxListed}`,
});
const lockPerson = systemStatement({
  name: 'own_identity.lock_person',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from auth."user" where id = :userId for update`,
});
const find = systemStatement({
  name: 'own_identity.find',
  parameters: { userId: 'uuid', id: 'uuid', issuer: 'text?', hasPasskeys: 'boolean' },
  row: { issuer: 'text', hasOtherWay: 'boolean' },
  text: `select ${issuerOf('a."accountId"')} as issuer, (
      exists (select from auth."account" p
               where p."userId" = a."userId" and p."providerId" = 'credential' and p."password" is not null)
      or (:hasPasskeys and exists (select from auth."passkey" k where k."userId" = a."userId"))
      or exists (select from auth."account" o
                  where o."userId" = a."userId" and o."providerId" = 'oidc' and o.id <> a.id
                    and ${issuerOf('o."accountId"')} = :issuer)) as "hasOtherWay"
     from auth."account" a where a."userId" = :userId and a.id = :id and a."providerId" = 'oidc'`,
});
const remove = systemStatement({
  name: 'own_identity.remove',
  parameters: { userId: 'uuid', id: 'uuid' },
  text: `delete from auth."account" where "userId" = :userId and id = :id and "providerId" = 'oidc'`,
});
const findOrganizations = systemStatement({
  name: 'own_identity.organizations',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid' },
  text: `select "organizationId" as id from auth."member" where "userId" = :userId order by "organizationId" limit ${maxRecorded}`,
});

interface OwnIdentity {
  /** Canonical uuid. */
  id: string;
  issuer: string;
  createdAt: Date;
}

/** How people sign in on this installation. */
interface WaysToSignIn {
  /** The issuer of the provider; undefined where there is none: identities of another one cannot sign in. */
  issuer: string | undefined;
  hasPasskeys: boolean;
}

/** The identities of a person, oldest first. @param userId a canonical uuid */
export const listIdentities = ({ pool }: Database, userId: string): Promise<OwnIdentity[]> =>
  sqlOn(pool).rows(list, { userId });

const noIdentity = (id: string) =>
  new AppError('not_found', `You have no identity with the id ${identityIds.format(id)}.`);

/**
 * Removes an identity of a person, who can no longer sign in with it. Open sessions continue. The audit log of each of
 * the person's organizations records it. A mailed link does not count as another way to sign in: the person may no
 * longer read that address.
 * @param id a canonical uuid
 * @throws AppError not_found, conflict where the person could sign in by nothing else
 */
export async function unlinkIdentity(
  database: Database,
  { userId, id }: { userId: string; id: string },
  { issuer, hasPasskeys }: WaysToSignIn,
  origin: RequestOrigin,
): Promise<void> {
  await systemTransaction(database, async (tx) => {
    // Two identities that are unlinked at once are unlinked one after the other.
    await tx.rows(lockPerson, { userId });
    const found = await tx.one(find, { userId, id, issuer: issuer ?? null, hasPasskeys });
    if (!found) throw noIdentity(id);
    if (found.issuer === issuer && !found.hasOtherWay) {
      const message = 'You could not sign in without this identity. Set a password or add a passkey first.';
      throw new AppError('conflict', message, { reason: 'only_way_to_sign_in' });
    }
    await tx.rows(remove, { userId, id });
    const by = { actor: userIds.format(userId), origin };
    for (const { id: organizationId } of await tx.rows(findOrganizations, { userId })) {
      await tx.audit({ organizationId, subjectId: id, action: 'identity.delete', facts: { user: by.actor }, ...by });
    }
  });
}
