import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import { Scope } from '../platform/scope.ts';
import { type Statement, sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';

/** A row whose workflow has not recorded its end yet. */
export interface OpenRow extends Tenant {
  id: string;
  correlationId: string;
}

/** A table in which each row has a workflow. */
export interface WorkTable {
  /** What the names of its statements begin with. */
  name: string;
  table: string;
  /** A condition in SQL. */
  isOpen: string;
  /** The column from which it is counted how long rows are kept; by default that of their creation. */
  keptFrom?: 'created_at' | 'finished_at';
}

/** Selects an `OpenRow`. */
export const openRowColumns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;

/** What `watchEachStopped` asks the table. */
export const openRows = ({ name, table, isOpen }: WorkTable) => ({
  hasOpen: statement<{ found: boolean }>(
    `${name}.any_open`,
    `select exists (select from ${table} where ${isOpen}) as found`,
  ),
  findOpen: statement<OpenRow>(
    `${name}.find_open`,
    `select ${openRowColumns} from ${table} where id = any($1::uuid[]) and ${isOpen}`,
  ),
});

/** Rows that are open too long. Two parameters: how many milliseconds after `from` they are, and how many rows at most. */
export const overdueRows = ({ name, table, isOpen }: WorkTable, from: 'created_at' | 'due_at'): Statement<OpenRow> =>
  statement(
    `${name}.overdue`,
    `select ${openRowColumns} from ${table}
      where ${isOpen} and ${from} < clock_timestamp() - make_interval(secs => $1::float8 / 1000)
      order by ${from} limit $2`,
  );

/** Ends the rows that the statement finds, one after the other, and logs each. Across all tenants. @returns how many */
export async function endOverdueRows(
  { database, log }: { database: Database; log: Log },
  overdue: Statement<OpenRow>,
  values: number[],
  end: (row: OpenRow) => Promise<unknown>,
): Promise<number> {
  const rows = await sqlOn(database.pool).rows(overdue, values);
  for (const row of rows) {
    await end(row);
    log.warn(row, `${overdue.name}: ended, because it is overdue`);
  }
  return rows.length;
}

/** The tenant's scope in which a row's work began. */
export const scopeOfRow = (database: Database, { organizationId, environment, correlationId }: OpenRow): Scope =>
  new Scope(database, { organizationId, environment }, correlationId);

/** As long as an Idempotency-Key is kept, which is taken with its row or before, and so is forgotten first. */
const keptHours = 24;

/**
 * Returns a function that removes the rows of the day before that are not open, of all tenants. It returns how many; as many
 * as `limit`: there may be more.
 * @param also further CTEs, for what belongs to the rows: their ids are in `old`
 */
export function forgetting(
  { name, table, isOpen, keptFrom = 'created_at' }: WorkTable,
  also = '',
): (database: Database, limit: number) => Promise<number> {
  const forget = statement<{ count: number }>(
    `${name}.forget`,
    `with old as (
       delete from ${table} where ctid = any(array(
         select ctid from ${table}
          where created_at <= clock_timestamp() - make_interval(hours => $1) and not ${isOpen}
            and ${keptFrom} <= clock_timestamp() - make_interval(hours => $1)
          order by created_at limit $2))
       returning id)${also && `, ${also}`}
     select count(*)::int as count from old`,
  );
  return async (database, limit) => (await sqlOn(database.pool).one(forget, [keptHours, limit]))!.count;
}
