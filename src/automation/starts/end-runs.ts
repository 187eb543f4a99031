import { statement, type TenantSql } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { wakeDeliveries } from '../../webhooks/index.ts';
import { testSeconds } from '../core/mocks.ts';
import { openRun, openStep, type RunErrorCode } from '../core/run-status.ts';
import { closeWaitsSql } from '../flows/waits.ts';
import { changedRun, failedRun, publishRunEventsSql } from '../runs/events-and-use.ts';

// These statements end runs whose workflows may still work, and can no longer record anything. The state of a step is that
// of its run.
const endStatement = statement({
  name: 'run.end_for_reason',
  parameters: { ids: 'uuid[]', status: 'text', code: 'text?', message: 'text?', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid', automationId: 'uuid', isTest: 'boolean' },
  counts: ({ automationId, isTest }, { status, code }) =>
    status === 'failed' && code !== null && !isTest ? failedRun(automationId, code) : [],
  text: `with ended as (
     select r.id, (select step_id from run_step s where s.run_id = r.id and s.status in (${openStep}) order by position limit 1)
                    as step_id
       from run r where r.organization_id = :organizationId and r.environment = :environment and r.id = any(:ids) and r.status in (${openRun})
      order by r.id for update),
   moved as (
     update run set status = :status, waiting_since = null, finished_at = atelier_now(), tokens_used = coalesce(tokens_used, 0),
            duration_ms = round(extract(epoch from atelier_now() - coalesce(started_at, atelier_now())) * 1000),
            error_code = :code, error = case when :code is not null then json_strip_nulls(json_build_object(
              'stepId', ended.step_id, 'message', :message, 'code', :code)) end
       from ended where run.id = ended.id
     returning ${changedRun('false')}, run.error),
   stopped as (
     update run_step set status = :status, finished_at = atelier_now(),
            error = case when :status = 'failed' then moved.error end,
            duration_ms = round(extract(epoch from atelier_now() - run_step.started_at) * 1000)
       from moved where run_step.run_id = moved.id and run_step.status in (${openStep})),
   ${closeWaitsSql('moved')},
   unstarted as (delete from outbox where kind = 'run.start' and subject_id in (select id from moved)),
   enqueued as (
     ${enqueueSql('run.cancel', { subject: 'id', correlation: ':correlationId', from: 'moved' })}
     ${replacingEarlier}
     returning id, subject_id),
   ${publishRunEventsSql('moved')}
   select subject_id as id, enqueued.id as "entryId", automation_id as "automationId", is_test as "isTest", ${wakeDeliveries}
     from enqueued join moved on moved.id = subject_id`,
  enqueues: { 'run.cancel': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});

/** Why runs are ended that did not end by themselves. */
export interface EndReason {
  status: 'cancelled' | 'failed';
  /** Absent for runs that a caller cancels. */
  code?: RunErrorCode;
  message?: string;
}

export const superseded: EndReason = {
  status: 'cancelled',
  code: 'superseded',
  message: 'A later run of the workflow took the place of this one.',
};

export const expired: EndReason = {
  status: 'cancelled',
  code: 'expired',
  message: 'The run did not begin before it expired.',
};

export const timedOut: EndReason = {
  status: 'failed',
  code: 'timeout',
  message: 'The run executed for longer than its workflow allows.',
};

export const testTimedOut: EndReason = {
  status: 'cancelled',
  code: 'timeout',
  message: `A test run takes at most ${testSeconds} seconds.`,
};

/** Ends the open ones of the runs. @returns their ids */
export async function endRuns(
  tx: TenantSql & { readonly correlationId: string },
  ids: readonly string[],
  { status, code, message }: EndReason,
): Promise<string[]> {
  const ended = await tx.rows(endStatement, {
    ids,
    status,
    code: code ?? null,
    message: message ?? null,
    correlationId: tx.correlationId,
  });
  return ended.map(({ id }) => id);
}
