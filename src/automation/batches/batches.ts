import { attemptAll } from '../../platform/concurrency/attempt-all.ts';
import { firstPortionSql } from '../../platform/concurrency/portions.ts';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { removalOfFewByPlan } from '../../tenancy/index.ts';
import { publishEvent } from '../../webhooks/index.ts';
import type { BatchCounts, BatchStatus } from '../core/batch-status.ts';
import { batchCompleted } from '../core/events.ts';
import { batchIds } from '../core/ids.ts';
import { openRun, type TerminalStatus } from '../core/run-status.ts';
import { failPoint } from '../fail-points.ts';
import { endRuns } from '../starts/end-runs.ts';

export interface Batch {
  id: string;
  name: string | null;
  automationId: string;
  status: BatchStatus;
  counts: BatchCounts;
  createdAt: Date;
  completedAt: Date | null;
}

const columns = {
  id: 'uuid',
  name: 'text?',
  automationId: 'uuid',
  status: typed<BatchStatus>('text'),
  counts: typed<BatchCounts>('jsonb'),
  createdAt: 'timestamptz',
  completedAt: 'timestamptz?',
} as const;

const counted = (status: string) => `'${status}', count(*) filter (where r.status = '${status}')`;

/** A batch as it is shown: at most 1,000 runs of it are counted. */
const shown = `b.id, b.name, b.automation_id as "automationId", b.status, b.created_at as "createdAt",
   b.completed_at as "completedAt",
   (select jsonb_build_object('total', b.total, 'reused', b.reused, 'skipped', b.skipped, ${counted('queued')},
             ${counted('running')}, ${counted('completed')}, ${counted('failed')}, ${counted('cancelled')})
      from run r where r.batch_id = b.id) as counts
   from run_batch b join automation a on a.id = b.automation_id and a.deleted_at is null
  where b.organization_id = :organizationId and b.environment = :environment`;

const find = statement({
  name: 'batch.find',
  parameters: { id: 'uuid' },
  row: columns,
  text: `select ${shown} and b.id = :id`,
});

const list = statement({
  name: 'batch.list',
  parameters: { limit: 'int', offset: 'int' },
  row: columns,
  text: `select ${shown} order by b.created_at desc, b.id desc limit :limit offset :offset`,
});

const count = statement({
  name: 'batch.count',
  row: { count: 'int' },
  text: `select count(*)::int as count from run_batch b join automation a on a.id = b.automation_id and a.deleted_at is null
    where b.organization_id = :organizationId and b.environment = :environment`,
});

const notFound = (id: string) => new AppError('not_found', 'No batch has this id.', { batchId: id });

/** @param id in either form @throws AppError not_found */
export async function getBatch(scope: Scope, id: string): Promise<Batch> {
  const uuid = batchIds.parse(id);
  const found = uuid && (await scope.one(find, { id: uuid }));
  if (!found) throw notFound(id);
  return found;
}

/** Newest first. */
export async function listBatches(scope: Scope, { limit, offset }: PageRequest): Promise<Page<Batch>> {
  const [items, total] = await Promise.all([scope.rows(list, { limit, offset }), scope.one(count)]);
  return { items, total: total!.count, limit, offset };
}

const findOpenRuns = statement({
  name: 'batch.open_runs',
  parameters: { id: 'uuid', limit: 'int' },
  row: { id: 'uuid' },
  text: firstPortionSql(`
    select id, total_steps as weight from run
     where organization_id = :organizationId and environment = :environment and batch_id = :id and status in (${openRun})
     order by created_at, id limit :limit`),
});

const markCancelled = statement({
  name: 'batch.cancel',
  parameters: { id: 'uuid' },
  text: `update run_batch set status = 'cancelled'
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'`,
});

const markEnded = statement({
  name: 'batch.end',
  parameters: { id: 'uuid' },
  row: { id: 'uuid' },
  text: `update run_batch b set completed_at = atelier_now(),
          status = case b.status when 'processing' then 'completed' else b.status end
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :id and b.completed_at is null
      and not exists (select from run r where r.batch_id = b.id and r.status in (${openRun}))
   returning b.id`,
});

interface BatchEndServices {
  waiters: Waiters;
  countRunEnd(status: TerminalStatus): void;
}

/** Runs that one transaction cancels. */
const perTransaction = 100;

/** Cancels the open runs of a cancelled batch. Harmless to repeat. */
async function cancelRuns({ waiters, countRunEnd }: BatchEndServices, scope: Scope, id: string): Promise<void> {
  for (;;) {
    const open = await scope.rows(findOpenRuns, { id, limit: perTransaction });
    if (open.length === 0) return;
    const ids = open.map((run) => run.id);
    const ended = await scope.transaction((tx) => endRuns(tx, ids, { status: 'cancelled' }));
    failPoint('batch.cancelling');
    for (const runId of ended) {
      waiters.notifyLocal(runId);
      countRunEnd('cancelled');
    }
  }
}

/** Ends a batch whose runs have all ended, once, with its event. @returns whether it was ended now */
async function endBatch(scope: Scope, id: string): Promise<boolean> {
  return scope.transaction(async (tx) => {
    if (!(await tx.one(markEnded, { id }))) return false;
    const { automationId, name, status, counts } = (await tx.one(find, { id }))!;
    await publishEvent(tx, batchCompleted, id, { batchId: id, automationId, name, status, counts: { ...counts } });
    failPoint('batch.ending');
    return true;
  });
}

/**
 * Cancels the runs of a batch that have not ended. A batch that has ended stays unchanged.
 * @param id in either form @throws AppError not_found
 */
export async function cancelBatch(services: BatchEndServices, scope: Scope, id: string): Promise<Batch> {
  const batch = await getBatch(scope, id);
  await scope.rows(markCancelled, { id: batch.id });
  failPoint('batch.cancelled');
  if (batch.completedAt === null) {
    await cancelRuns(services, scope, batch.id);
    await endBatch(scope, batch.id);
  }
  return getBatch(scope, id);
}

const findDue = systemStatement({
  name: 'batch.find_due',
  parameters: { limit: 'int' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Tenant['environment']>('text'),
    status: typed<BatchStatus>('text'),
    correlationId: 'text',
  },
  text: `select b.id, b.organization_id as "organizationId", b.environment, b.status, b.correlation_id as "correlationId"
     from run_batch b join automation a on a.id = b.automation_id and a.deleted_at is null
    where b.completed_at is null
      and (b.status = 'cancelled' or not exists (
        select from run r where r.batch_id = b.id and r.status in (${openRun})))
    limit :limit`,
});

/**
 * Ends the batches whose runs have all ended, and continues interrupted cancellations, of all tenants.
 * @returns how many ended @throws the first failure, after the others were tried
 */
export async function endDueBatches(database: Database, services: BatchEndServices): Promise<number> {
  let ended = 0;
  const due = await sqlOn(database.pool).rows(findDue, { limit: 100 });
  await attemptAll(due, async ({ id, status, correlationId, ...tenant }) => {
    const scope = new Scope(database, tenant, correlationId);
    if (status === 'cancelled') await cancelRuns(services, scope, id);
    if (await endBatch(scope, id)) ended++;
  });
  return ended;
}

/** Removes the batches that ended longer ago than their plan keeps runs. */
export const removeOldBatches = removalOfFewByPlan({ table: 'run_batch', endedAt: 'completed_at' });
