import { firstPortionSql, portionWeight } from '../../platform/concurrency/portions.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { removeFilesSql } from '../../storage/index.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { automationWorkflows, type PurgeAutomationArgs, purgeWorkflowId } from '../../temporal/contracts/automation.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { openRun } from '../core/run-status.ts';
import { closeWaitsSql } from '../flows/waits.ts';
import { removeTemporalSchedule } from '../schedules/temporal-schedules.ts';
import { cancelRunWorkflow } from './run-workflows.ts';

// Small batches keep every statement far below its time limit and hold locks briefly.
const cancelBatch = 100;
const purgeBatch = 5_000;

/** A workflow with at most so many runs, none of them in flight, is purged at once when their steps are few too. */
const quickRuns = 1_000;

const findDeleted = statement({
  name: 'purge.deleted',
  parameters: { automationId: 'uuid' },
  row: { plan: typed<PlanName>('text'), isQuick: 'boolean' },
  text: `select o.plan, case when a.total_runs <= ${quickRuns} then (
              select coalesce(sum(r.total_steps), 0) <= ${portionWeight} from run r
               where r.organization_id = :organizationId and r.environment = :environment and r.automation_id = :automationId) else false end
            and not exists (select from automation_schedule s where s.organization_id = :organizationId and s.environment = :environment
                               and s.automation_id = :automationId)
            and not exists (select from run r where r.organization_id = :organizationId and r.environment = :environment and r.automation_id = :automationId
                               and r.status in (${openRun})) as "isQuick"
     from automation a join organization o on o.id = a.organization_id
    where a.organization_id = :organizationId and a.environment = :environment and a.id = :automationId and a.deleted_at is not null`,
});

/**
 * Purges a deleted workflow: at once where that is little work, because a deletion of hundreds would start as many
 * Temporal workflows; otherwise by the Temporal workflow that is started here. Does nothing when it is purged already.
 */
export async function startPurge(temporal: TemporalClient, scope: Scope, automationId: string): Promise<void> {
  const owner = await scope.one(findDeleted, { automationId });
  if (!owner) return;
  if (owner.isQuick) {
    while (await purgeSome(scope, automationId));
    return;
  }
  const args: PurgeAutomationArgs = { ...scope.tenant, correlationId: scope.correlationId, automationId };
  await temporal.start({
    type: automationWorkflows.purgeAutomation,
    workflowId: purgeWorkflowId(automationId),
    queue: queues.runs,
    priority: priorities.background,
    args,
    resourceId: automationId,
    fairness: fairnessOf(scope.tenant, owner.plan),
    once: true,
  });
}

const findInFlight = statement({
  name: 'purge.in_flight',
  parameters: { automationId: 'uuid', limit: 'int' },
  row: { id: 'uuid' },
  text: firstPortionSql(`
    select id, total_steps as weight from run
     where organization_id = :organizationId and environment = :environment and automation_id = :automationId
       and status in (${openRun}) order by number limit :limit`),
});

const markCancelled = statement({
  name: 'purge.mark_cancelled',
  parameters: { ids: 'uuid[]' },
  row: { id: 'uuid' },
  text: `with moved as (
     update run set status = 'cancelled', waiting_since = null, finished_at = atelier_now()
      where organization_id = :organizationId and environment = :environment and id = any(:ids) and status in (${openRun})
     returning id),
   ${closeWaitsSql('moved')}
   select id from moved`,
});

/**
 * Deletes the schedule of a deleted workflow and cancels a batch of its runs in flight. The requests to Temporal
 * precede the marks in the rows: after a crash in between they are repeated, while the other order could leave a
 * workflow running.
 * @returns whether there may be more
 */
export async function cancelRunsInFlight(
  temporal: TemporalClient,
  scope: Scope,
  automationId: string,
): Promise<boolean> {
  await removeTemporalSchedule(temporal, automationId);
  const inFlight = (await scope.rows(findInFlight, { automationId, limit: cancelBatch })).map(({ id }) => id);
  await Promise.all(inFlight.map((id) => cancelRunWorkflow(temporal, id)));
  await scope.rows(markCancelled, { ids: inFlight });
  return inFlight.length > 0;
}

// A file of an output may also belong to retries, which are runs of the same workflow: none of them can be read any
// more.
const purgeRuns = statement({
  name: 'purge.runs',
  parameters: { automationId: 'uuid', limit: 'int' },
  row: { count: 'int' },
  text: `with batch as (${firstPortionSql(`
          select id, total_steps as weight from run
           where organization_id = :organizationId and environment = :environment and automation_id = :automationId limit :limit`)}),
        steps as (delete from run_step where run_id in (select id from batch) returning output_file),
        rounds as (delete from run_step_round where run_id in (select id from batch)),
        calls as (delete from run_step_call where run_id in (select id from batch)),
        waits as (delete from run_wait where run_id in (select id from batch)),
        files as (${removeFilesSql('steps', 'output_file')}),
        starts as (delete from outbox where kind = 'run.start' and subject_id in (select id from batch)),
        claims as (delete from idempotency where organization_id = :organizationId and environment = :environment
                      and resource_id in (select id from batch)),
        gone as (delete from run where id in (select id from batch) returning id)
   select count(*)::int as count from gone`,
});

const purgeAutomationRows = statement({
  name: 'purge.automation',
  parameters: { automationId: 'uuid' },
  text: `with definitions as (delete from definition where organization_id = :organizationId and environment = :environment and automation_id = :automationId),
        blocks as (delete from run_block where organization_id = :organizationId and environment = :environment and automation_id = :automationId),
        batches as (delete from run_batch where organization_id = :organizationId and environment = :environment and automation_id = :automationId),
        schedules as (delete from automation_schedule
                       where organization_id = :organizationId and environment = :environment and automation_id = :automationId)
   delete from automation where organization_id = :organizationId and environment = :environment and id = :automationId and deleted_at is not null`,
});

/** Deletes a batch of a deleted workflow's rows, and its own row last. @returns whether there may be more */
export async function purgeSome(scope: Scope, automationId: string): Promise<boolean> {
  const purged = await scope.one(purgeRuns, { automationId, limit: purgeBatch });
  if (purged!.count > 0) return true;
  await scope.rows(purgeAutomationRows, { automationId });
  return false;
}
