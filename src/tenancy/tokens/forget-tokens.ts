import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';

const forget = systemStatement({
  name: 'browser_token.forget',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from browser_token where ctid = any(array(
       select ctid from browser_token where expires_at < clock_timestamp() - interval '1 day' limit :limit))
     returning 1)
   select count(*)::int as count from gone`,
});

/** Removes tokens a day after their end, of all tenants: until then their browsers learn that they have ended. @returns how many */
export const forgetEndedTokens = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).one(forget, { limit }))!.count;
