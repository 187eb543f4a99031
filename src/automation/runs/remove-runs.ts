import { lockAllForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Database } from '../../platform/database/database.ts';
import { blockSize } from '../../platform/database/row-blocks.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { removedFilesKind } from '../../storage/index.ts';
import { removalByPlan } from '../../tenancy/index.ts';
import { runIds } from '../core/ids.ts';
import { endedRun, isTerminal, type RunStatus } from '../core/run-status.ts';
import { runNotFound } from '../errors.ts';
import { blockLock } from './run-blocks.ts';

// A retry that is being created holds the run that it retries. The next statement sees the steps that it took over.
const lockEnded = statement({
  name: 'run.lock_to_remove',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid' },
  text: `select id from run
    where organization_id = :organizationId and environment = :environment and id = any(:ids) and status in (${endedRun})
    order by id for update`,
});

// A file of an output belongs to retries too: it goes with the last run whose step names it.
const removeStatement = statement({
  name: 'run.remove',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `with batch as (
     select id, automation_id, number, status from run
      where organization_id = :organizationId and environment = :environment and id = any(:ids) and status in (${endedRun}) for update),
   steps as (delete from run_step where run_id in (select id from batch) returning output_file),
   rounds as (delete from run_step_round where run_id in (select id from batch)),
   calls as (delete from run_step_call where run_id in (select id from batch)),
   waits as (delete from run_wait where run_id in (select id from batch)),
   files as (
     update file set remove_at = atelier_now()
      where organization_id = :organizationId and environment = :environment
        and name in (select output_file from steps where output_file is not null)
        and recorded_at is not null and (remove_at is null or remove_at > atelier_now())
        and not exists (select from run_step other
                         where other.output_file = file.name and other.run_id not in (select id from batch))),
   numbers as (
     update automation a set removed_runs = removed_runs + c.count
       from (select automation_id, count(*) filter (where number > 0)::int as count from batch group by 1) c where a.id = c.automation_id),
   blocks as (
     update run_block b
        set completed = b.completed - c.completed, failed = b.failed - c.failed, cancelled = b.cancelled - c.cancelled
       from (select automation_id, (number - 1) / ${blockSize} as block,
                    count(*) filter (where status = 'completed')::int as completed,
                    count(*) filter (where status = 'failed')::int as failed,
                    count(*) filter (where status = 'cancelled')::int as cancelled
               from batch where number > 0 group by 1, 2) c
      where b.automation_id = c.automation_id and b.block = c.block),
   gone as (delete from run where id in (select id from batch) returning id)
   select count(*)::int as count from gone`,
});

const removeEmptyBlocks = statement({
  name: 'run.remove_empty_blocks',
  parameters: { automationIds: 'uuid[]' },
  text: `delete from run_block where organization_id = :organizationId and environment = :environment and automation_id = any(:automationIds)
      and completed + failed + cancelled = 0`,
});

/** Removes ended runs with all that belongs to them. @returns how many there were */
async function remove(tx: Transaction, runs: readonly { id: string; automationId: string }[]): Promise<number> {
  const automations = [...new Set(runs.map(({ automationId }) => automationId))];
  await lockAllForTransaction(tx, automations.map(blockLock));
  const ids = (await tx.rows(lockEnded, { ids: runs.map(({ id }) => id) })).map(({ id }) => id);
  const { count } = (await tx.one(removeStatement, { ids }))!;
  await tx.rows(removeEmptyBlocks, { automationIds: automations });
  return count;
}

const findRemovable = statement({
  name: 'run.find_removable',
  parameters: { id: 'uuid' },
  row: { id: 'uuid', automationId: 'uuid', status: typed<RunStatus>('text') },
  text: `select r.id, r.automation_id as "automationId", r.status
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :id`,
});

/**
 * Deletes an ended run: its steps, tool calls, and the files that no retry shares. Retries of it stay.
 * @param id in either form
 * @throws AppError run_not_found; conflict while the run has not ended
 */
export async function deleteRun(scope: Scope, id: string): Promise<void> {
  const uuid = runIds.parse(id);
  await scope.transaction(async (tx) => {
    const run = uuid && (await tx.one(findRemovable, { id: uuid }));
    if (!run) throw runNotFound(id);
    if (!isTerminal(run.status)) throw new AppError('conflict', 'The run has not ended.', { runId: id });
    if ((await remove(tx, [run])) === 0) throw runNotFound(id);
    await tx.enqueue(removedFilesKind, run.id);
    await tx.audit({ action: 'run.delete', subjectId: run.id });
  });
}

const removeOld = removalByPlan({
  table: 'run',
  endedAt: 'finished_at',
  also: { automationId: 'automation_id' },
  weight: 'total_steps',
});

/** Runs that one transaction removes at most: each may have a hundred files. */
const batchSize = 200;

/** Removes the runs that ended longer ago than their plan keeps them, of all tenants. @returns how many */
export const removeOldRuns = (database: Database): Promise<number> => removeOld(database, remove, batchSize);
