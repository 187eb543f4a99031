import { inBatches } from '../platform/batches.ts';
import type { Database } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { lockAllForTransaction } from '../platform/tenant-locks.ts';
import { openRun, type RunStatus } from './core/run-status.ts';

/**
 * Numbers per block. An ended run never changes its status: once all runs of a block have ended, one row has their counts by
 * status, and only the removal of a run changes it. A count then reads one row for each 1000 runs, and no run that starts or
 * ends has a counter to update.
 */
const size = 1000;
const inBlock = (run: string, block: string) =>
  `${run}.number > ${block} * ${size} and ${run}.number <= (${block} + 1) * ${size}`;

/** Blocks of a workflow are counted, and runs are removed from them, one transaction after the other. */
export const blockLock = (automationId: string): string => `run_blocks ${automationId}`;

interface DueBlock extends Tenant {
  automationId: string;
  block: number;
}

// Finds the ends of blocks by their own small index. A block with open runs is left to a later call.
const findDueBlocks = statement<DueBlock>(
  'run.due_blocks',
  `select r.automation_id as "automationId", r.number / ${size} - 1 as block, r.organization_id as "organizationId",
          r.environment
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.number % ${size} = 0 and r.number > 0
      and not exists (select from run_block b where b.automation_id = r.automation_id and b.block = r.number / ${size} - 1)
      and not exists (select from run o where o.automation_id = r.automation_id and o.status in (${openRun})
                         and o.number > r.number - ${size} and o.number <= r.number)
    limit $1`,
);

const countOf = (status: string) => `count(*) filter (where status = '${status}')::int`;

const countBlock = statement<{ block: number }>(
  'run.count_block',
  `insert into run_block (automation_id, block, organization_id, environment, completed, failed, cancelled)
   select $3::uuid, $4::int, $1::uuid, $2::text, ${countOf('completed')}, ${countOf('failed')}, ${countOf('cancelled')}
     from run where organization_id = $1 and environment = $2 and automation_id = $3 and ${inBlock('run', '$4::int')}
   on conflict do nothing
   returning block`,
);

/** Counts the runs of blocks whose runs have all ended, of all tenants. @returns how many blocks */
export function countRunBlocks(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => {
    const due = await sql.rows(findDueBlocks, [limit]);
    for (const { organizationId, environment, automationId, block } of due) {
      await new Scope(database, { organizationId, environment }, newId()).transaction(async (tx) => {
        await lockAllForTransaction(tx, [blockLock(automationId)]);
        await tx.rows(countBlock, automationId, block);
      });
    }
    return due.length;
  }, 100);
}

interface FoundMarks {
  total: number;
  upTo: number | null;
  skip: number | null;
}

/**
 * Blocks without a row are counted run by run: usually the last one or two. The first run is looked for as the index of
 * numbers has them: as the least number, the planner may read all runs of the workflow for it.
 * `$4` is the number of the latest run, and `$5` the offset.
 * @param isCounted whether the run `r` counts
 * @param counted how many of the block `b` do
 */
const marksStatement = (name: string, isCounted: string, counted: string) =>
  statement<FoundMarks>(
    name,
    `with counted as (
     select n as block,
            case when b.block is null then
                   (select count(*)::int from run r
                     where r.organization_id = $1 and r.environment = $2 and r.automation_id = $3 and ${isCounted}
                       and ${inBlock('r', 'n')})
                 else ${counted} end as count
       from generate_series(
              (select (number - 1) / ${size} from run
                where organization_id = $1 and environment = $2 and (automation_id, number) >= ($3, 0) and automation_id <= $3
                order by automation_id, number limit 1), ($4::int - 1) / ${size}) as n
       left join run_block b on b.organization_id = $1 and b.environment = $2 and b.automation_id = $3 and b.block = n),
   summed as (select block, count, sum(count) over (order by block desc) as so_far from counted),
   first as (select * from summed where so_far > $5::bigint order by block desc limit 1)
   select coalesce((select sum(count) from counted), 0)::int as total, (block + 1) * ${size} as "upTo",
          ($5 - (so_far - count))::int as skip
     from (select 1) as one left join first on true`,
  );

const marksOfStatus = marksStatement(
  'run.marks',
  'r.status = $6',
  `case $6::text when 'completed' then b.completed when 'failed' then b.failed
                 when 'cancelled' then b.cancelled else 0 end`,
);
const marksOfAll = marksStatement('run.marks_of_all', 'true', 'b.completed + b.failed + b.cancelled');

export interface Marks {
  /** How many runs there are. */
  total: number;
  /** Where the page begins: so many of these runs after this number, in descending order. Undefined when it is empty. */
  begin: { upTo: number; skip: number } | undefined;
}

/**
 * Counts a workflow's runs and finds a page of them, at a cost that does not grow with the offset.
 * @param status undefined for all
 * @param totalRuns the number of the latest run
 */
export async function markRuns(
  scope: Scope,
  automationId: string,
  status: RunStatus | undefined,
  { totalRuns, offset }: { totalRuns: number; offset: number },
): Promise<Marks> {
  const found = status
    ? await scope.one(marksOfStatus, automationId, totalRuns, offset, status)
    : await scope.one(marksOfAll, automationId, totalRuns, offset);
  const { total, upTo, skip } = found!;
  return { total, begin: upTo === null || skip === null ? undefined : { upTo, skip } };
}
