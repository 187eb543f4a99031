import type { Waiters } from '../../platform/concurrency/waiters.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql } from '../../platform/outbox/enqueue.ts';
import { wakeDeliveries } from '../../webhooks/index.ts';
import { openRun, openStep, type TerminalStatus } from '../core/run-status.ts';
import { failPoint } from '../fail-points.ts';
import { closeWaitsSql } from '../flows/waits.ts';
import { changedRun, publishRunEventsSql } from './events-and-use.ts';
import { getRun, type RunDetail } from './runs.ts';

// This statement ends the run. Its workflow may still work, but can no longer record anything.
const cancelStatement = statement({
  name: 'run.cancel',
  parameters: { runId: 'uuid', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  text: `with moved as (
     update run set status = 'cancelled', waiting_since = null, finished_at = atelier_now(), tokens_used = coalesce(tokens_used, 0),
            duration_ms = round(extract(epoch from atelier_now() - coalesce(started_at, atelier_now())) * 1000)
      where organization_id = :organizationId and environment = :environment and id = :runId and status in (${openRun})
      returning ${changedRun('false')}),
   stopped as (
     update run_step set status = 'cancelled', finished_at = atelier_now(),
            duration_ms = round(extract(epoch from atelier_now() - started_at) * 1000)
      where run_id in (select id from moved) and status in (${openStep})),
   ${closeWaitsSql('moved')},
   unstarted as (delete from outbox where kind = 'run.start' and subject_id in (select id from moved)),
   enqueued as (
     ${enqueueSql('run.cancel', { subject: 'id', correlation: ':correlationId', from: 'moved' })}
     returning id, subject_id),
   ${publishRunEventsSql('moved')}
   select subject_id as id, id as "entryId", ${wakeDeliveries} from enqueued`,
  enqueues: { 'run.cancel': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});

/** Records that a run is cancelled. @returns false when it had ended before or does not exist */
export async function cancelRunRow(scope: Scope, runId: string): Promise<boolean> {
  return (await scope.one(cancelStatement, { runId, correlationId: scope.correlationId })) !== undefined;
}

export interface CancelRunServices {
  waiters: Waiters;
  /** Called for every run that ends in this process. */
  countRunEnd(status: TerminalStatus): void;
}

/**
 * Cancels a run. A run that has ended stays unchanged. `id` in either form.
 * @returns the run as it is now: cancelled, or as it had ended before
 * @throws AppError run_not_found
 */
export async function cancelRun(services: CancelRunServices, scope: Scope, id: string): Promise<RunDetail> {
  const { id: runId } = await getRun(scope, id);
  if (await cancelRunRow(scope, runId)) {
    failPoint('run.cancelled');
    services.countRunEnd('cancelled');
    services.waiters.notifyLocal(runId);
  }
  return getRun(scope, id);
}
