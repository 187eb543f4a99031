import pg, { type Client, type Pool } from 'pg';
import { sqlOn, systemStatement } from './sql.ts';

const userOf = (url: string): string => decodeURIComponent(new URL(url).username);

/** Whether migrations use a login of their own. */
export const areSeparate = (ownerUrl: string, applicationUrl: string): boolean =>
  userOf(ownerUrl) !== userOf(applicationUrl);

interface Login {
  name: string;
  isPowerful: boolean;
  isOwner: boolean;
}

const lookAt = (name: string) => `
  select rolname as name, rolsuper or rolbypassrls or rolcreaterole or rolreplication as "isPowerful",
         exists (select from pg_shdepend
                  where refclassid = 'pg_authid'::regclass and refobjid = r.oid and deptype = 'o') as "isOwner"
    from pg_roles r where rolname = ${name}`;

const find = systemStatement({
  name: 'database_login.find',
  parameters: { user: 'text' },
  row: { name: 'text', isPowerful: 'boolean', isOwner: 'boolean' },
  text: lookAt(':user'),
});
const findOwn = systemStatement({
  name: 'database_login.find_own',
  row: { name: 'text', isPowerful: 'boolean', isOwner: 'boolean' },
  text: lookAt('session_user'),
});

/** The rights of a login beyond the roles of the product; undefined without any. */
function excessOf({ name, isPowerful, isOwner }: Login): string | undefined {
  if (isPowerful) return `The database login ${name} has more rights than the application needs.`;
  return isOwner ? `The database login ${name} owns objects, and so can switch row-level security off.` : undefined;
}

/** Why the login of these connections is more than the application needs; undefined when it is not. */
export async function findExcess(pool: Pool): Promise<string | undefined> {
  const own = await sqlOn(pool).one(findOwn);
  return own && excessOf(own);
}

/**
 * Creates the login that the application connects with, or gives an existing one the password of its URL. It owns
 * nothing and inherits nothing: it can only become one of `roles`, so that leaving a role gains no rights.
 * @param owner connected as the login that owns the tables
 * @throws Error when the login has more rights than that
 */
export async function prepareLogin(owner: Client, applicationUrl: string, roles: readonly string[]): Promise<void> {
  const user = userOf(applicationUrl);
  const name = pg.escapeIdentifier(user);
  const password = decodeURIComponent(new URL(applicationUrl).password);
  const withPassword = password === '' ? '' : ` password ${pg.escapeLiteral(password)}`;
  const existing = await sqlOn(owner).one(find, { user });
  const excess = existing && excessOf(existing);
  if (excess) throw new Error(`${excess} Name another one in DATABASE_URL; it is made.`);
  await owner.query(`${existing ? 'alter' : 'create'} role ${name} login noinherit${withPassword}`);
  await owner.query(`grant ${roles.join(', ')} to ${name} with inherit false, set true`);
}
