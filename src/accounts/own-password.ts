import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';

const find = systemStatement({
  name: 'account.has_password',
  parameters: { userId: 'uuid' },
  row: { has: 'boolean' },
  text: `select exists (
    select from auth."account" where "userId" = :userId and "providerId" = 'credential' and "password" is not null) as has`,
});

/** Whether a person can sign in by password. @param userId a canonical uuid */
export async function hasPassword({ pool }: Database, userId: string): Promise<boolean> {
  return (await sqlOn(pool).one(find, { userId }))!.has;
}
