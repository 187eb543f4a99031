import { enqueueSql } from '../platform/outbox.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { wakeDeliveries } from '../webhooks/publish-event.ts';
import { openRun, type TerminalStatus } from './core/run-status.ts';
import { failPoint } from './fail-points.ts';
import { changedRun, publishRunEventsSql } from './run-events-sql.ts';
import type { RunWaiters } from './run-waiters.ts';
import { cancelRunWorkflow } from './run-workflows.ts';
import { getRun, type RunDetail } from './runs.ts';

// The run is over with this statement, whatever its workflow still does: nothing that comes later can be recorded.
// Temporal is owed the news, since a process may die before it brings it.
const cancelStatement = statement<{ id: string }>(
  'run.cancel',
  `with moved as (
     update run set status = 'cancelled', finished_at = clock_timestamp(), tokens_used = coalesce(tokens_used, 0),
            duration_ms = round(extract(epoch from clock_timestamp() - coalesce(started_at, clock_timestamp())) * 1000)
      where organization_id = $1 and environment = $2 and id = $3 and status in (${openRun})
      returning ${changedRun('false')}),
   stopped as (
     update run_step set status = 'cancelled', finished_at = clock_timestamp(),
            duration_ms = round(extract(epoch from clock_timestamp() - started_at) * 1000)
      where run_id in (select id from moved) and status = 'running'),
   unstarted as (delete from outbox where kind = 'run.start' and subject_id in (select id from moved)),
   owed as (
     ${enqueueSql('run.cancel', { subject: 'id', correlation: '$4', from: 'moved', first: 'writer' })}),
   ${publishRunEventsSql('moved')}
   select id, ${wakeDeliveries} from moved`,
);

/** Records that a run is cancelled. @returns false when it had ended, or is gone */
export async function cancelRunRow(scope: Scope, runId: string): Promise<boolean> {
  return (await scope.one(cancelStatement, runId, scope.correlationId)) !== undefined;
}

export interface CancelRunServices {
  temporal: TemporalClient;
  waiters: RunWaiters;
  /** Told of every run that ends here. */
  countRunEnd(status: TerminalStatus): void;
}

export interface CancelledRun {
  /** As it is now: cancelled, or as it had ended before. */
  run: RunDetail;
  /** Stops what still works for the run. The outbox owes it too. */
  stop(): Promise<void>;
}

/** Cancels a run; one that has ended stays as it is. `id` in either form. @throws AppError run_not_found */
export async function cancelRun(services: CancelRunServices, scope: Scope, id: string): Promise<CancelledRun> {
  const { id: runId } = await getRun(scope, id);
  const cancelled = await cancelRunRow(scope, runId);
  if (cancelled) {
    failPoint('run.cancelled');
    services.waiters.tell(runId);
    services.countRunEnd('cancelled');
  }
  const run = await getRun(scope, id);
  return { run, stop: async () => (cancelled ? cancelRunWorkflow(services.temporal, runId) : undefined) };
}
