import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { type Sql, sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import type { AccountTimes } from './core/times.ts';
import { acceptAll, lockInvitations } from './invitations.ts';
import { provenUser } from './people.ts';
import { type Entry, ensureOrganization } from './sign-up.ts';
import { hashOfToken, randomToken, tokenPattern } from './tokens.ts';

// One-time links: opening one proves an address, and signs its person in.

const insert = systemStatement({
  name: 'account_link.create',
  parameters: { identifier: 'text', email: 'text', expiresAt: 'timestamptz' },
  text: `insert into auth."verification" ("identifier", "value", "expiresAt") values (:identifier, :email, :expiresAt)`,
});
const find = systemStatement({
  name: 'account_link.find',
  parameters: { identifier: 'text' },
  row: { email: 'text' },
  text: `select value as email from auth."verification"
    where "identifier" = :identifier and "expiresAt" > atelier_now()`,
});
const consume = systemStatement({
  name: 'account_link.consume',
  parameters: { identifier: 'text' },
  row: { email: 'text' },
  text: `delete from auth."verification" where "identifier" = :identifier and "expiresAt" > atelier_now()
    returning value as email`,
});

/** The people that a link can be created for: people with an account, and invited people. */
export const mayHaveLink = systemStatement({
  name: 'account_link.may_have',
  parameters: { email: 'text' },
  row: { isKnown: 'boolean' },
  text: `select exists (select from auth."user" where email = :email)
    or exists (select from auth."invitation" where email = :email and "status" = 'pending'
                and "expiresAt" > atelier_now()) as "isKnown"`,
});

const identifierOf = (token: string) => `link:${hashOfToken(token).toString('base64url')}`;

export interface Link {
  token: string;
  expiresAt: Date;
}

/** @param email in lower case */
export async function createLink(sql: Sql, email: string, times: AccountTimes): Promise<Link> {
  const token = randomToken();
  const expiresAt = new Date(clock.now() + times.linkMs);
  await sql.rows(insert, { identifier: identifierOf(token), email, expiresAt });
  return { token, expiresAt };
}

/** Whether a user with this address has an account, or is invited to have one. */
export const isKnownEmail = async (database: Database, email: string): Promise<boolean> =>
  (await sqlOn(database.pool).one(mayHaveLink, { email }))!.isKnown;

/** The address of a link that can still be opened. Looking at one does not use it up. */
export async function findLink(database: Database, token: string): Promise<string | undefined> {
  if (!tokenPattern.test(token)) return undefined;
  return (await sqlOn(database.pool).one(find, { identifier: identifierOf(token) }))?.email;
}

/**
 * Uses up a link: its address is proved, and its invitations are accepted.
 * @returns the user's id; undefined where the link was used or is too old
 */
export async function redeemLink(database: Database, token: string, entry: Entry): Promise<string | undefined> {
  if (!tokenPattern.test(token)) return undefined;
  return systemTransaction(database, async (tx) => {
    const link = await tx.one(consume, { identifier: identifierOf(token) });
    if (!link) return undefined;
    const invitations = await lockInvitations(tx, link.email);
    const userId = await provenUser(tx, link.email);
    await acceptAll(tx, invitations, userId, entry.origin);
    await ensureOrganization(tx, userId, entry);
    return userId;
  });
}
