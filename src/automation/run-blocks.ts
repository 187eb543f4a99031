import { inBatches } from '../platform/batches.ts';
import type { Database } from '../platform/database.ts';
import type { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { openRun, type RunStatus } from './core/run-status.ts';

/**
 * Runs per block. A workflow's runs are numbered without gaps, and an ended run never changes its status: once all runs of
 * a block have ended, one row has their counts by status for ever. A count then reads one row for each 1000 runs, and no
 * run that starts or ends has a counter to update.
 */
const size = 1000;
const inBlock = (run: string, block: string) =>
  `${run}.number > ${block} * ${size} and ${run}.number <= (${block} + 1) * ${size}`;

const countOf = (status: string) => `(select count(*)::int from run
    where run.automation_id = due.automation_id and run.status = '${status}' and ${inBlock('run', 'due.block')})`;

// Finds the ends of blocks by their own small index. A block with open runs is left to a later call.
const countBlocks = statement<{ block: number }>(
  'run.count_blocks',
  `with due as (
     select r.automation_id, r.number / ${size} - 1 as block, r.organization_id, r.environment
       from run r join automation a on a.id = r.automation_id and a.deleted_at is null
      where r.number % ${size} = 0
        and not exists (select from run_block b where b.automation_id = r.automation_id and b.block = r.number / ${size} - 1)
        and not exists (select from run o where o.automation_id = r.automation_id and o.status in (${openRun})
                           and o.number > r.number - ${size} and o.number <= r.number)
      limit $1)
   insert into run_block (automation_id, block, organization_id, environment, completed, failed, cancelled)
   select automation_id, block, organization_id, environment,
          ${countOf('completed')}, ${countOf('failed')}, ${countOf('cancelled')}
     from due
   on conflict do nothing
   returning block`,
);

/** Counts the runs of blocks whose runs have all ended, of all tenants. @returns how many blocks */
export function countRunBlocks(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => (await sql.rows(countBlocks, [limit])).length, 100);
}

// Blocks without a row are counted run by run: usually the last one or two.
const findMarks = statement<{ total: number; upTo: number | null; skip: number | null }>(
  'run.marks',
  `with counted as (
     select n as block,
            case when b.block is null then
                   (select count(*)::int from run r
                     where r.organization_id = $1 and r.environment = $2 and r.automation_id = $3 and r.status = $4
                       and ${inBlock('r', 'n')})
                 else case $4::text when 'completed' then b.completed when 'failed' then b.failed
                                    when 'cancelled' then b.cancelled else 0 end end as count
       from generate_series(0, ($5::int - 1) / ${size}) as n
       left join run_block b on b.organization_id = $1 and b.environment = $2 and b.automation_id = $3 and b.block = n),
   summed as (select block, count, sum(count) over (order by block desc) as so_far from counted),
   first as (select * from summed where so_far > $6::bigint order by block desc limit 1)
   select (select sum(count)::int from counted) as total, (block + 1) * ${size} as "upTo",
          ($6 - (so_far - count))::int as skip
     from (select 1) as one left join first on true`,
);

export interface Marks {
  /** How many runs of the workflow have the status. */
  total: number;
  /** Where the page begins: so many runs of the status after this number, in descending order. Undefined when it is empty. */
  begin: { upTo: number; skip: number } | undefined;
}

/**
 * Counts a workflow's runs of a status and finds a page of them, at a cost that does not grow with the offset.
 * @param totalRuns the number of the latest run
 */
export async function markRuns(
  scope: Scope,
  automationId: string,
  status: RunStatus,
  { totalRuns, offset }: { totalRuns: number; offset: number },
): Promise<Marks> {
  const { total, upTo, skip } = (await scope.one(findMarks, automationId, status, totalRuns, offset))!;
  return { total, begin: upTo === null || skip === null ? undefined : { upTo, skip } };
}
