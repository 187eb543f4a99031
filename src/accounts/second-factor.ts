import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';

const find = systemStatement({
  name: 'second_factor.find',
  parameters: { userId: 'uuid' },
  row: { isOn: 'boolean' },
  text: `select coalesce("twoFactorEnabled", false) as "isOn" from auth."user" where id = :userId`,
});
const reset = systemStatement({
  name: 'second_factor.reset',
  parameters: { email: 'text' },
  row: { id: 'uuid' },
  text: `with person as (
     update auth."user" set "twoFactorEnabled" = false, "updatedAt" = clock_timestamp()
      where email = :email returning id),
   factors as (delete from auth."twoFactor" where "userId" in (select id from person)),
   sessions as (delete from auth."session" where "userId" in (select id from person))
   select id from person`,
});

/** Whether signing in asks a person for a code. @param userId a canonical uuid */
export async function hasSecondFactor({ pool }: Database, userId: string): Promise<boolean> {
  return (await sqlOn(pool).one(find, { userId }))?.isOn ?? false;
}

/**
 * For operators, when a person has lost the authenticator and the backup codes: turns the second factor off and ends the
 * person's sessions.
 * @param email in lower case
 * @returns whether there is such a person
 */
export async function resetSecondFactor({ pool }: Database, email: string): Promise<boolean> {
  return (await sqlOn(pool).one(reset, { email })) !== undefined;
}
