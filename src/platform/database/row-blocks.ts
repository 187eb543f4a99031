import { lockForTransaction } from '../concurrency/tenant-locks.ts';
import { newId } from '../ids.ts';
import type { Environment } from '../tenant.ts';
import { inBatches } from './batches.ts';
import type { Database } from './database.ts';
import { Scope } from './scope.ts';
import { sqlOn, statement, systemStatement } from './sql.ts';
import { type SqlType, typed } from './sql-types.ts';

/** Numbers per block. The index of the ends of blocks and earlier rows have this number too. */
export const blockSize = 1000;

const inBlock = (row: string, block: string) =>
  `${row}.number > ${block} * ${blockSize} and ${row}.number <= (${block} + 1) * ${blockSize}`;

/**
 * A table of a tenant whose rows have consecutive numbers from 1, and never change once they have ended. `<table>_block` has
 * the counts of 1000 of them.
 */
interface NumberedRows<Series extends string> {
  table: string;
  /**
   * The column of rows with numbers of their own, by the name of its parameter: a UUID, and the first column of the
   * indexes. Empty if the numbers are the tenant's.
   */
  series: Readonly<Record<Series, string>>;
  /** The condition of a row that has not ended. */
  isOpen: string;
  /** The conditions of the rows that a block counts, by its columns. */
  counts: Readonly<Record<string, string>>;
  /** The condition under which the blocks of the row `r` are counted; all are without it. */
  isWanted?: string;
}

/** The shown part of the rows of a list, and where its statement reads it. */
export interface Marked<Given extends Record<string, SqlType>> {
  /** Follows the table in the name of the statement. */
  name: string;
  /** Parameters of the conditions besides `:offset` and those of the series. */
  given: Given;
  /** The condition of the rows that the list shows. */
  isShown: string;
  /** How many of them the block `b` has. */
  counted: string;
  /** The number of the latest row. */
  latest: string;
  /** The condition under which no row was removed. */
  noneRemoved?: string;
}

/**
 * Counts of rows that have ended, for lists whose totals and pages cost the same however far back they are. Once all rows of
 * a block have ended, one row has their counts, and only the removal of a row changes it. A total then reads one row for
 * each 1000, and no row that starts or ends has a counter to update.
 */
export function rowBlocks<const Series extends string>({
  table,
  series,
  isOpen,
  counts,
  isWanted,
}: NumberedRows<Series>) {
  const ids = Object.keys(series) as Series[];
  const uuids = Object.fromEntries(ids.map((id) => [id, 'uuid'])) as Record<Series, 'uuid'>;
  // The statements that only pass the ids on do not name them in their types.
  const passedOn: Record<never, never> = uuids;
  const ofTenant = { organizationId: 'organization_id', environment: 'environment' };
  const bound = { ...ofTenant, ...series };
  const columnsOf = (named: Readonly<Record<string, string>>) => Object.values<string>(named).join(', ');
  const parametersOf = (named: Readonly<Record<string, string>>) =>
    Object.keys(named)
      .map((name) => `:${name}`)
      .join(', ');
  const isBound = (row: string) =>
    Object.entries<string>(bound)
      .map(([name, column]) => `${row}.${column} = :${name}`)
      .join(' and ');
  /** The first columns of the indexes: the ids of a series are unique among all tenants. */
  const key = ids.length > 0 ? series : ofTenant;
  const hasKeyOf = (row: string, other: string) =>
    Object.values<string>(key)
      .map((column) => `${row}.${column} = ${other}.${column}`)
      .join(' and ');

  // Finds the ends of blocks by their own small index. A block with open rows is left to a later call.
  const findDue = systemStatement({
    name: `${table}.due_blocks`,
    parameters: { limit: 'int' },
    row: { ...passedOn, organizationId: 'uuid', environment: typed<Environment>('text'), block: 'int' },
    text: `select ${Object.entries<string>(series)
      .map(([name, column]) => `r.${column} as "${name}", `)
      .join('')}r.organization_id as "organizationId", r.environment, r.number / ${blockSize} - 1 as block
       from ${table} r
      where r.number % ${blockSize} = 0 and r.number > 0${isWanted ? ` and ${isWanted}` : ''}
        and not exists (select from ${table}_block b where ${hasKeyOf('b', 'r')} and b.block = r.number / ${blockSize} - 1)
        and not exists (select from ${table} o
                         where ${hasKeyOf('o', 'r')} and ${isOpen} and o.number > r.number - ${blockSize} and o.number <= r.number)
      limit :limit`,
  });

  const countBlock = statement({
    name: `${table}.count_block`,
    parameters: { ...passedOn, block: 'int' },
    row: { block: 'int' },
    text: `insert into ${table}_block (${columnsOf(bound)}, block, ${Object.keys(counts).join(', ')})
     select ${parametersOf(bound)}, :block,
            ${Object.values(counts)
              .map((condition) => `count(*) filter (where ${condition})::int`)
              .join(', ')}
       from ${table} r where ${isBound('r')} and ${inBlock('r', ':block')}
     on conflict do nothing
     returning block`,
  });

  // Rows are compared and ordered as the index of numbers has them: for the least number the planner may read all of them.
  const findFirst = `(select (number - 1) / ${blockSize} from ${table} r
     where r.organization_id = :organizationId and r.environment = :environment
       and (${columnsOf(key)}, number) >= (${parametersOf(key)}, 0) and (${columnsOf(key)}) <= (${parametersOf(key)})
     order by ${columnsOf(key)}, number limit 1)`;

  /** Blocks of a series are counted, and rows are removed from them, one transaction after the other: the lock's name. */
  const lockOf = (of: Readonly<Record<Series, string>>): string =>
    [`${table}_blocks`, ...ids.map((id) => of[id])].join(' ');

  return {
    lockOf,

    /** Counts the blocks whose rows have all ended, of all tenants. @returns how many blocks */
    countDue(database: Database): Promise<number> {
      const sql = sqlOn(database.pool);
      return inBatches(async (limit) => {
        const due = await sql.rows(findDue, { limit });
        for (const { organizationId, environment, ...one } of due) {
          await new Scope(database, { organizationId, environment }, newId()).transaction(async (tx) => {
            await lockForTransaction(tx, lockOf(one as never));
            await tx.rows(countBlock, one);
          });
        }
        return due.length;
      }, 100);
    },

    /**
     * A statement that counts the rows of a list and finds where a page of it begins: `skip` of them after the number `upTo`,
     * in descending order, or null for an empty page. Blocks without a row are counted one by one: usually the last one or
     * two. Where no row was removed the first has the number 1: a plan made while there were few may read all for it.
     */
    marks: <const Given extends Record<string, SqlType> = Record<never, never>>({
      name,
      given,
      isShown,
      counted,
      latest,
      noneRemoved,
    }: Marked<Given>) =>
      statement({
        name: `${table}.${name}`,
        parameters: { ...given, ...uuids, offset: 'bigint' },
        row: { total: 'int', upTo: 'int?', skip: 'int?' },
        text: `with counted as (
         select n as block,
                case when b.block is null then
                       (select count(*)::int from ${table} r where ${isBound('r')} and ${isShown} and ${inBlock('r', 'n')})
                     else ${counted} end as count
           from generate_series(${noneRemoved ? `case when ${noneRemoved} then 0 else ${findFirst} end` : findFirst},
                                (${latest} - 1) / ${blockSize}) as n
           left join ${table}_block b on ${isBound('b')} and b.block = n),
       summed as (select block, count, sum(count) over (order by block desc) as so_far from counted),
       first as (select * from summed where so_far > :offset order by block desc limit 1)
       select coalesce((select sum(count) from counted), 0)::int as total, (block + 1) * ${blockSize} as "upTo",
              (:offset - (so_far - count))::int as skip
         from (select 1) as one left join first on true`,
      }),
  };
}
