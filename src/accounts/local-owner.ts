import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import { operator } from '../platform/security/audit.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { linkPath } from './core/paths.ts';
import { accountTimes } from './core/times.ts';
import { addMember } from './invitations.ts';
import { createLink } from './links.ts';
import { provenUser } from './people.ts';

export const localOwner = { email: 'owner@atelier.localhost', name: 'Owner' } as const;

const hasOwner = systemStatement({
  name: 'local_owner.has_signed_in',
  parameters: { organizationId: 'uuid' },
  row: { hasSignedIn: 'boolean' },
  text: `select exists (
     select from auth."member" m join auth."user" u on u.id = m."userId"
      where m."organizationId" = :organizationId and m.role = 'owner' and u."lastSeenAt" is not null) as "hasSignedIn"`,
});

/**
 * Creates a link that signs in the first owner of a local installation, and creates that owner if there is none.
 * @param organizationId `org_…`
 * @returns the path of the link; undefined once an owner has signed in
 */
export async function localSignInPath(database: Database, organizationId: string): Promise<string | undefined> {
  const id = organizationIds.parse(organizationId)!;
  if ((await sqlOn(database.pool).one(hasOwner, { organizationId: id }))!.hasSignedIn) return undefined;
  return systemTransaction(database, async (tx) => {
    const userId = await provenUser(tx, localOwner.email, localOwner.name);
    const { token } = await createLink(tx, localOwner.email, accountTimes());
    await addMember(tx, { organizationId: id, userId, role: 'owner' }, { actor: operator });
    return `${linkPath}/${token}`;
  });
}
