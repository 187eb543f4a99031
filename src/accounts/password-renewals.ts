import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { systemTransaction } from '../platform/database/unit-of-work.ts';
import type { AccountTimes } from './core/times.ts';
import { hashPassword } from './passwords.ts';
import type { SignedIn } from './sessions.ts';
import { hashOfToken, randomToken, tokenPattern } from './tokens.ts';

// A person without the password signs in by a one-time link, and may then set a new password without the old one: once,
// in that browser alone, and only for a while. Other sessions of the person cannot.

const insert = systemStatement({
  name: 'password_renewal.create',
  parameters: { identifier: 'text', userId: 'uuid', expiresAt: 'timestamptz' },
  text: `insert into auth."verification" ("identifier", "value", "expiresAt") values (:identifier, :userId::text, :expiresAt)`,
});
const find = systemStatement({
  name: 'password_renewal.find',
  parameters: { identifier: 'text', userId: 'uuid' },
  row: { found: 'boolean' },
  text: `select exists (select from auth."verification" where "identifier" = :identifier and "value" = :userId::text
    and "expiresAt" > atelier_now()) as found`,
});
const consume = systemStatement({
  name: 'password_renewal.consume',
  parameters: { identifier: 'text', userId: 'uuid' },
  row: { id: 'uuid' },
  text: `delete from auth."verification" where "identifier" = :identifier and "value" = :userId::text
    and "expiresAt" > atelier_now() returning id`,
});
const replace = systemStatement({
  name: 'password_renewal.replace',
  parameters: { userId: 'uuid', sessionId: 'uuid', password: 'text' },
  text: `with others as (
     delete from auth."session" where "userId" = :userId and id <> :sessionId)
   update auth."account" set "password" = :password, "updatedAt" = atelier_now()
    where "userId" = :userId and "providerId" = 'credential'`,
});

const identifierOf = (token: string) => `renewal:${hashOfToken(token).toString('base64url')}`;

/** @returns the token, for the browser of a person who has just opened a link. It works for as long as a link does. */
export async function createRenewal({ pool }: Database, userId: string, times: AccountTimes): Promise<string> {
  const token = randomToken();
  const expiresAt = new Date(clock.now() + times.linkMs);
  await sqlOn(pool).rows(insert, { identifier: identifierOf(token), userId, expiresAt });
  return token;
}

/** Whether a person may set a new password without the current one. */
export async function mayRenew({ pool }: Database, { userId }: SignedIn, token: string | undefined): Promise<boolean> {
  if (token === undefined || !tokenPattern.test(token)) return false;
  return (await sqlOn(pool).one(find, { identifier: identifierOf(token), userId }))!.found;
}

/**
 * Replaces the password and ends the person's other sessions.
 * @returns whether the token was still good
 */
export async function renewPassword(
  database: Database,
  { id: sessionId, userId }: SignedIn,
  { token, newPassword }: { token: string; newPassword: string },
): Promise<boolean> {
  const password = await hashPassword(newPassword);
  return systemTransaction(database, async (tx) => {
    if (!(await tx.one(consume, { identifier: identifierOf(token), userId }))) return false;
    await tx.rows(replace, { userId, sessionId, password });
    return true;
  });
}
