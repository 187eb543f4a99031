import type { Database } from './database.ts';
import { sqlOn, systemStatement } from './sql.ts';

/** Rows that a sweep removes once they are of no use, of all tenants. */
interface RemovedRows {
  /** The name of the statement. */
  name: string;
  table: string;
  /** The condition of a row of the table; `order by` may follow. */
  where: string;
}

/** @returns what removes at most `limit` of the rows, and resolves with how many: as many as `limit` means there may be more */
export function removalOf({ name, table, where }: RemovedRows): (database: Database, limit: number) => Promise<number> {
  const remove = systemStatement({
    name,
    parameters: { limit: 'int' },
    row: { count: 'int' },
    text: `with gone as (
       delete from ${table} where ctid = any(array(select ${table}.ctid from ${table} where ${where} limit :limit))
       returning 1)
     select count(*)::int as count from gone`,
  });
  return async (database, limit) => (await sqlOn(database.pool).one(remove, { limit }))!.count;
}
