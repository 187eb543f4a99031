import { z } from 'zod';
import { type Sql, systemStatement } from '../platform/database/sql.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import type { Role } from '../tenancy/core/roles.ts';
import { isRole } from './core/roles.ts';

const insert = systemStatement({
  name: 'account.create_user',
  parameters: { email: 'text', name: 'text' },
  row: { id: 'uuid' },
  text: `insert into auth."user" ("name", "email", "emailVerified") values (:name, :email, true)
    on conflict ("email") do nothing returning id`,
});

const lockByEmail = systemStatement({
  name: 'account.lock_user',
  parameters: { email: 'text' },
  row: { id: 'uuid', isVerified: 'boolean' },
  text: `select id, "emailVerified" as "isVerified" from auth."user" where email = :email for update`,
});

/** Another person may have chosen the password before the address was verified. */
const verify = systemStatement({
  name: 'account.verify_user',
  parameters: { id: 'uuid' },
  text: `with ways as (delete from auth."account" where "userId" = :id),
   sessions as (delete from auth."session" where "userId" = :id)
   update auth."user" set "emailVerified" = true, "updatedAt" = atelier_now() where id = :id`,
});

// The condition stands twice: a row that another transaction has changed meanwhile is checked again by the outer one.
const removeUnproved = systemStatement({
  name: 'account.remove_unproved',
  parameters: { seconds: 'float8', limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from auth."user" where not "emailVerified" and id = any(array(
       select id from auth."user" where not "emailVerified"
          and "createdAt" < atelier_now() - make_interval(secs => :seconds) limit :limit)) returning 1)
   select count(*)::int as count from gone`,
});

/** As browsers check it, in lower case: one address is one person. */
const oneAddress = z.email({ pattern: z.regexes.html5Email }).max(320);

/** Whether a text is one address; its case and spaces around it are the caller's. */
export const isEmail = (text: string): boolean => oneAddress.safeParse(text).success;

/** @throws AppError validation_error */
export function readEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (!isEmail(email)) {
    throw invalid([{ path: 'email', message: 'Expected one e-mail address.' }], 'email: Expected one e-mail address.');
  }
  return email;
}

/** @throws AppError validation_error */
export function readRole(text: string): Role {
  if (!isRole(text)) {
    const message = 'Expected owner, admin, member or viewer.';
    throw invalid([{ path: 'role', message }], `role: ${message}`);
  }
  return text;
}

/** The person of an address that has just been proved. Created if there is none. @returns the user's id */
export async function provenUser(sql: Sql, email: string, name = ''): Promise<string> {
  const made = await sql.one(insert, { email, name: name || email.slice(0, email.lastIndexOf('@')) });
  if (made) return made.id;
  const { id, isVerified } = (await sql.one(lockByEmail, { email }))!;
  if (!isVerified) await sql.rows(verify, { id });
  return id;
}

/** Removes accounts whose address was not verified in time: a stranger began them. @returns how many */
export const forgetUnproved = async (sql: Sql, unprovedMs: number, limit: number): Promise<number> =>
  (await sql.one(removeUnproved, { seconds: unprovedMs / 1000, limit }))!.count;

export const noOrganization = (organizationId: string): AppError =>
  new AppError('not_found', `No organization has the id ${organizationIds.format(organizationId)}.`);
