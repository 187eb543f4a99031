import type { Database } from '../platform/database/database.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import { acceptAll, lockInvitations } from './invitations.ts';
import { mayHaveLink } from './links.ts';
import type { OidcIdentity } from './oidc.ts';
import { isEmail, provenUser } from './people.ts';
import { type Entry, ensureOrganization } from './sign-up.ts';

const provider = 'oidc';

const find = systemStatement({
  name: 'oidc_identity.find',
  parameters: { provider: 'text', accountId: 'text' },
  row: { userId: 'uuid', email: 'text' },
  text: `select u.id as "userId", u.email from auth."account" a join auth."user" u on u.id = a."userId"
    where a."providerId" = :provider and a."accountId" = :accountId`,
});
const join = systemStatement({
  name: 'oidc_identity.join',
  parameters: { provider: 'text', accountId: 'text', userId: 'uuid' },
  row: { userId: 'uuid' },
  text: `insert into auth."account" ("accountId", "providerId", "userId", "updatedAt")
    values (:accountId, :provider, :userId, atelier_now())
    on conflict ("accountId") where "providerId" = 'oidc' do nothing returning "userId"`,
});

const lockPerson = systemStatement({
  name: 'oidc_identity.lock_person',
  parameters: { userId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from auth."user" where id = :userId for update`,
});

/** A subject is one of its issuer alone. */
const accountIdOf = ({ issuer, subject }: OidcIdentity) => `${issuer} ${subject}`;

/** Why a sign-in with an identity of the provider fails. */
export type OidcRefusal = 'unproved_address' | 'no_account';

/**
 * The person of an identity. A new identity joins the account of its address, which the provider must have proved. For
 * an invited person an account is created; where sign-up is open, for every person. Membership of organizations comes
 * only from invitations.
 * @returns the user's id, or why there is none
 */
export async function userOfIdentity(
  database: Database,
  identity: OidcIdentity,
  entry: Entry,
): Promise<{ userId: string } | { refusal: OidcRefusal }> {
  const accountId = accountIdOf(identity);
  const given = identity.email?.trim();
  // Checked as it is written: letters of other alphabets are other people's, and some become ours in lower case.
  const email = given !== undefined && identity.isEmailVerified && isEmail(given) ? given.toLowerCase() : undefined;
  return systemTransaction(database, async (tx) => {
    const known = await tx.one(find, { provider, accountId });
    if (known) {
      const invitations = known.email === email ? await lockInvitations(tx, email) : [];
      // If two sign-ins come at the same moment, one of them gives the person an organization.
      await tx.rows(lockPerson, { userId: known.userId });
      await acceptAll(tx, invitations, known.userId, entry.origin);
      await ensureOrganization(tx, known.userId, entry);
      return { userId: known.userId };
    }
    if (email === undefined) return { refusal: 'unproved_address' };
    if (!entry.countOrganization && !(await tx.one(mayHaveLink, { email }))!.isKnown) return { refusal: 'no_account' };
    const invitations = await lockInvitations(tx, email);
    const userId = await provenUser(tx, email, identity.name);
    // One of two first sign-ins at the same moment joins; both are the same person's.
    const joined =
      (await tx.one(join, { provider, accountId, userId })) ?? (await tx.one(find, { provider, accountId }))!;
    await acceptAll(tx, invitations, joined.userId, entry.origin);
    await ensureOrganization(tx, joined.userId, entry);
    return { userId: joined.userId };
  });
}
