import { portionsOf } from '../../platform/concurrency/portions.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { type RowOf, statement, type TenantSql } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import {
  type BulkActionStatus,
  type BulkActionType,
  type BulkCounts,
  type BulkError,
  describeBulkAction,
  maxBulkErrors,
  openBulkAction,
  unknownRun,
} from '../core/bulk-actions.ts';
import type { RunStatus } from '../core/run-status.ts';
import { failPoint } from '../fail-points.ts';
import { type RetryDefinition, type RetryServices, retryRun } from '../runs/retry-run.ts';
import { type DayServices, runOfDay } from '../starts/day-window.ts';
import { endRuns } from '../starts/end-runs.ts';

export interface BulkActionServices extends RetryServices, DayServices {}

/** Runs that are read together. One transaction cancels them, or a portion of them when they have many steps. */
const perPage = 100;

const tenant = 'organization_id = :organizationId and environment = :environment';

// The holder of its row may record the results of runs. It begins with the first page.
const hold = statement({
  name: 'bulk_action.hold',
  parameters: { id: 'uuid', limit: 'int' },
  row: {
    action: typed<BulkActionType>('text'),
    definition: typed<RetryDefinition>('text'),
    status: typed<BulkActionStatus>('text'),
    done: 'int',
    next: 'uuid[]',
  },
  text: `update bulk_action
      set status = case when done < cardinality(run_ids) then 'running' else 'completed' end,
          completed_at = case when done >= cardinality(run_ids) then atelier_now() end
    where ${tenant} and id = :id and status in (${openBulkAction})
   returning action, definition, status, done, run_ids[done + 1 : done + :limit] as next`,
});

const progress = statement({
  name: 'bulk_action.progress',
  parameters: { id: 'uuid' },
  row: {
    action: typed<BulkActionType>('text'),
    status: typed<BulkActionStatus>('text'),
    total: 'int',
    succeeded: 'int',
    failed: 'int',
    skipped: 'int',
  },
  text: `select action, status, total, succeeded, failed, skipped from bulk_action where ${tenant} and id = :id`,
});

// Starts at the run that is next, so that no run is counted twice.
const advance = statement({
  name: 'bulk_action.advance',
  parameters: {
    id: 'uuid',
    from: 'int',
    succeeded: 'int',
    failed: 'int',
    skipped: 'int',
    errors: 'jsonb',
    maxErrors: 'int',
  },
  row: { id: 'uuid' },
  text: `update bulk_action
      set done = done + :succeeded + :failed + :skipped, succeeded = succeeded + :succeeded, failed = failed + :failed,
          skipped = skipped + :skipped,
          errors = case when jsonb_array_length(:errors) = 0 then errors else (
            select json_agg(e.value order by e.at)
              from (select value, at from jsonb_array_elements(errors::jsonb || :errors) with ordinality as a (value, at)
                     limit :maxErrors) e) end
    where ${tenant} and id = :id and status = 'running' and done = :from
   returning id`,
});

const findStatuses = statement({
  name: 'bulk_action.statuses',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid', status: typed<RunStatus>('text'), steps: 'int' },
  text: `select r.id, r.status, r.total_steps as steps from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = :organizationId and r.environment = :environment and r.id = any(:ids)`,
});

/** Another attempt has done these runs, or the bulk action was aborted. */
class Superseded extends Error {}

/** What became of runs. */
interface Results {
  succeeded?: number;
  skipped?: number;
  errors?: readonly BulkError[];
}

/** @throws Superseded */
async function record(tx: TenantSql, id: string, from: number, results: Results): Promise<void> {
  const { succeeded = 0, skipped = 0, errors = [] } = results;
  const kept = JSON.stringify(errors.slice(0, maxBulkErrors));
  const counted = { id, from, succeeded, skipped, failed: errors.length, errors: kept, maxErrors: maxBulkErrors };
  if (!(await tx.one(advance, counted))) throw new Superseded();
}

const findRuns = async (sql: TenantSql, ids: readonly string[]) =>
  new Map((await sql.rows(findStatuses, { ids })).map((run) => [run.id, run]));

/** Cancels the next runs, in one transaction with their counts. */
async function cancelNext(services: BulkActionServices, scope: Scope, id: string, { done, next }: Held): Promise<void> {
  const ended = await scope.transaction(async (tx) => {
    const known = await findRuns(tx, next);
    const [portion = []] = portionsOf(next, (runId) => known.get(runId)?.steps ?? 0);
    const found = portion.filter((runId) => known.has(runId));
    const cancelled = await endRuns(tx, found, { status: 'cancelled' });
    const errors = portion.filter((runId) => !known.has(runId)).map(unknownRun);
    await record(tx, id, done, { succeeded: cancelled.length, skipped: found.length - cancelled.length, errors });
    failPoint('bulk.cancelling');
    return cancelled;
  });
  failPoint('bulk.cancelled');
  for (const runId of ended) {
    services.waiters.notifyLocal(runId);
    services.countRunEnd('cancelled');
  }
}

/** Why a run cannot be retried; undefined when the same attempt may succeed later. */
function problemOf(error: unknown, runId: string, isLast: boolean): BulkError | undefined {
  const isOurs = !(error instanceof AppError) || ['internal_error', 'service_unavailable'].includes(error.kind);
  if (isOurs) {
    return isLast ? { runId, code: 'internal_error', message: 'Something went wrong on our side.' } : undefined;
  }
  return { runId, code: error.code, message: error.message };
}

/** Retries the next runs within its time limit, each in a transaction with its count. */
async function retryNext(
  services: BulkActionServices,
  scope: Scope,
  id: string,
  { done, definition, next }: Held,
  { mayGoOn, isLastAttempt }: BulkActionOptions,
): Promise<void> {
  const known = await findRuns(scope, next);
  const takeOfDay = await runOfDay(services, scope);
  for (const [index, runId] of next.entries()) {
    const from = done + index;
    const status = known.get(runId)?.status;
    if (status === undefined) await record(scope, id, from, { errors: [unknownRun(runId)] });
    else if (status === 'completed') await record(scope, id, from, { skipped: 1 });
    else {
      let counted = false;
      const also = async (tx: Transaction) => {
        await record(tx, id, from, { succeeded: 1 });
        // Last, because what is refused counts in no window. The transaction may be restarted for a lock.
        if (!counted) await takeOfDay();
        counted = true;
        failPoint('bulk.retrying');
      };
      try {
        await retryRun(services, scope, runId, { definition, also });
        failPoint('bulk.retried');
      } catch (error) {
        if (error instanceof Superseded) throw error;
        const problem = problemOf(error, runId, isLastAttempt && index === 0);
        if (!problem) throw error;
        await record(scope, id, from, { errors: [problem] });
      }
    }
    if (!mayGoOn()) return;
  }
}

type Held = RowOf<typeof hold>;

interface BulkActionOptions {
  mayGoOn(): boolean;
  /** Whether an unexpected error is now a failure of the run that it concerns. */
  isLastAttempt: boolean;
}

/** The progress of a bulk action. `over`: no run is left. */
export interface BulkProgress extends BulkCounts {
  over: boolean;
  /** For operators. */
  details: string;
}

/**
 * Continues a bulk action, page by page. The results are recorded with its progress, so that a crash repeats no page.
 * @returns undefined when there is none
 */
export async function performBulkAction(
  services: BulkActionServices,
  scope: Scope,
  id: string,
  options: BulkActionOptions,
): Promise<BulkProgress | undefined> {
  do {
    const held = await scope.one(hold, { id, limit: perPage });
    if (held?.status !== 'running') break;
    try {
      if (held.action === 'cancel') await cancelNext(services, scope, id, held);
      else await retryNext(services, scope, id, held, options);
    } catch (error) {
      if (!(error instanceof Superseded)) throw error;
    }
  } while (options.mayGoOn());
  const found = await scope.one(progress, { id });
  if (!found) return undefined;
  const { action, status, ...counts } = found;
  const over = status === 'completed' || status === 'aborted';
  const done = describeBulkAction(action, counts);
  return { ...counts, over, details: status === 'aborted' ? `Aborted. ${done}` : done };
}
