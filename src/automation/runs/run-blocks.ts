import { lockAllForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { type SqlType, typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import type { Environment } from '../../platform/tenant.ts';
import { openRun, type RunStatus } from '../core/run-status.ts';

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

// Finds the ends of blocks by their own small index. A block with open runs is left to a later call.
const findDueBlocks = systemStatement({
  name: 'run.due_blocks',
  parameters: { limit: 'int' },
  row: { automationId: 'uuid', block: 'int', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select r.automation_id as "automationId", r.number / ${size} - 1 as block, r.organization_id as "organizationId",
          r.environment
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.number % ${size} = 0 and r.number > 0
      and not exists (select from run_block b where b.automation_id = r.automation_id and b.block = r.number / ${size} - 1)
      and not exists (select from run o where o.automation_id = r.automation_id and o.status in (${openRun})
                         and o.number > r.number - ${size} and o.number <= r.number)
    limit :limit`,
});

const countOf = (status: string) => `count(*) filter (where status = '${status}')::int`;

const countBlock = statement({
  name: 'run.count_block',
  parameters: { automationId: 'uuid', block: 'int' },
  row: { block: 'int' },
  text: `insert into run_block (automation_id, block, organization_id, environment, completed, failed, cancelled)
   select :automationId, :block, :organizationId, :environment, ${countOf('completed')}, ${countOf('failed')}, ${countOf('cancelled')}
     from run where organization_id = :organizationId and environment = :environment and automation_id = :automationId and ${inBlock('run', ':block')}
   on conflict do nothing
   returning block`,
});

/** Counts the runs of blocks whose runs have all ended, of all tenants. @returns how many blocks */
export function countRunBlocks(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  return inBatches(async (limit) => {
    const due = await sql.rows(findDueBlocks, { limit });
    for (const { organizationId, environment, automationId, block } of due) {
      await new Scope(database, { organizationId, environment }, newId()).transaction(async (tx) => {
        await lockAllForTransaction(tx, [blockLock(automationId)]);
        await tx.rows(countBlock, { automationId, block });
      });
    }
    return due.length;
  }, 100);
}

/**
 * Blocks without a row are counted run by run: usually the last one or two. The first run is looked for as the index of
 * numbers has them: as the least number, the planner may read all runs of the workflow for it.
 * Where none was removed it is number 1: a plan made while there were few runs may read all of them for it.
 * `:latest` is the number of the latest run, `:removed` how many were removed.
 * @param isCounted whether the run `r` counts
 * @param counted how many of the block `b` do
 */
const marksStatement = <const Given extends Record<string, SqlType>>(
  name: string,
  given: Given,
  isCounted: string,
  counted: string,
) =>
  statement({
    name: name,
    parameters: { ...given, automationId: 'uuid', latest: 'int', removed: 'int', offset: 'bigint' },
    row: { total: 'int', upTo: 'int?', skip: 'int?' },
    text: `with counted as (
     select n as block,
            case when b.block is null then
                   (select count(*)::int from run r
                     where r.organization_id = :organizationId and r.environment = :environment and r.automation_id = :automationId and ${isCounted}
                       and ${inBlock('r', 'n')})
                 else ${counted} end as count
       from generate_series(
              case when :removed = 0 then 0 else
                (select (number - 1) / ${size} from run
                  where organization_id = :organizationId and environment = :environment and (automation_id, number) >= (:automationId, 0) and automation_id <= :automationId
                  order by automation_id, number limit 1) end, (:latest - 1) / ${size}) as n
       left join run_block b on b.organization_id = :organizationId and b.environment = :environment and b.automation_id = :automationId and b.block = n),
   summed as (select block, count, sum(count) over (order by block desc) as so_far from counted),
   first as (select * from summed where so_far > :offset order by block desc limit 1)
   select coalesce((select sum(count) from counted), 0)::int as total, (block + 1) * ${size} as "upTo",
          (:offset - (so_far - count))::int as skip
     from (select 1) as one left join first on true`,
  });

const marksOfStatus = marksStatement(
  'run.marks',
  { status: 'text' },
  'r.status = :status',
  `case :status when 'completed' then b.completed when 'failed' then b.failed
                 when 'cancelled' then b.cancelled else 0 end`,
);
const marksOfAll = marksStatement('run.marks_of_all', {}, 'true', 'b.completed + b.failed + b.cancelled');

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
 * @param removedRuns how many of them are no longer there
 */
export async function markRuns(
  scope: Scope,
  automationId: string,
  status: RunStatus | undefined,
  { totalRuns, removedRuns, offset }: { totalRuns: number; removedRuns: number; offset: number },
): Promise<Marks> {
  const given = { automationId, latest: totalRuns, removed: removedRuns, offset };
  const found = status ? await scope.one(marksOfStatus, { ...given, status }) : await scope.one(marksOfAll, given);
  const { total, upTo, skip } = found!;
  return { total, begin: upTo === null || skip === null ? undefined : { upTo, skip } };
}
