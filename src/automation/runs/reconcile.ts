import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { type Declaration, type RowWith, typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { TemporalClient, WorkflowState } from '../../temporal/client.ts';
import { automationWorkflows, runWorkflowId } from '../../temporal/contracts/automation.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { watchStopped } from '../../temporal/stopped-workflows.ts';
import { wakeDeliveries } from '../../webhooks/index.ts';
import { openRun, openStep, type RunErrorCode } from '../core/run-status.ts';
import { closeWaitsSql } from '../flows/waits.ts';
import { changedRun, failedRun, publishRunEventsSql } from './events-and-use.ts';
import { runWorkflowState } from './run-workflows.ts';

interface ReconcilePolicy {
  /** Temporal is asked about a run that has been open for this long, and again after every further interval. */
  everyMs: number;
  /** Runs per call. */
  batch: number;
}

const defaultReconcilePolicy: ReconcilePolicy = { everyMs: 300_000, batch: 100 };

const openRunRow = {
  id: 'uuid',
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  correlationId: 'text',
} as const satisfies Declaration;
type OpenRun = RowWith<typeof openRunRow>;

const openRunColumns = `id, organization_id as "organizationId", environment, correlation_id as "correlationId"`;

// The runs that were checked least recently come first, so that long runs do not block others. Runs whose start is
// still in the outbox are left to it.
const leaseOpenRuns = systemStatement({
  name: 'reconcile.lease',
  parameters: { everyMs: 'float8', limit: 'int' },
  row: openRunRow,
  text: `update run set checked_at = atelier_now()
    where id in (
      select id from run r
       where status in (${openRun}) and queued_for is null
         and coalesce(checked_at, created_at) <= atelier_now() - make_interval(secs => :everyMs / 1000)
         and not exists (select from outbox where kind = 'run.start' and subject_id = r.id)
       order by coalesce(checked_at, created_at) limit :limit for update skip locked)
   returning ${openRunColumns}`,
});

const hasOpenRuns = systemStatement({
  name: 'reconcile.any_open',
  row: { found: 'boolean' },
  text: `select exists (select from run where status in (${openRun})) as found`,
});

const findOpenRuns = systemStatement({
  name: 'reconcile.find',
  parameters: { ids: 'uuid[]' },
  row: openRunRow,
  text: `select ${openRunColumns} from run where id = any(:ids) and status in (${openRun})`,
});

interface End {
  status: 'failed' | 'cancelled';
  code?: RunErrorCode;
  message?: string;
}

/** How a run ends whose workflow is closed while its row is still open. */
const ends: Record<Exclude<WorkflowState, 'open'>, End> = {
  terminated: { status: 'failed', code: 'internal_error', message: 'The run was terminated.' },
  timedOut: { status: 'failed', code: 'timeout', message: 'The run took too long.' },
  cancelled: { status: 'cancelled' },
  closed: { status: 'failed', code: 'internal_error', message: 'The run ended without a record of its result.' },
  missing: { status: 'failed', code: 'internal_error', message: 'The run was lost.' },
};

// One statement ends the run and its running step. A second call changes nothing.
const endRun = statement({
  name: 'reconcile.end',
  parameters: { runId: 'uuid', status: 'text', code: 'text?', message: 'text?' },
  row: { id: 'uuid', automationId: 'uuid', isTest: 'boolean' },
  counts: ({ automationId, isTest }, { status, code }) =>
    status === 'failed' && code !== null && !isTest ? failedRun(automationId, code) : [],
  text: `with cut as (
     select r.id, (select step_id from run_step s where s.run_id = r.id and s.status in (${openStep}) order by position limit 1)
                    as step_id
       from run r where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId and r.status in (${openRun}) for update),
   moved as (
     update run set status = :status, waiting_since = null, finished_at = atelier_now(), tokens_used = coalesce(tokens_used, 0),
            duration_ms = round(extract(epoch from atelier_now() - started_at) * 1000),
            error_code = :code, error = case when :code is not null then
              json_strip_nulls(json_build_object('stepId', cut.step_id, 'message', :message, 'code', :code)) end
       from cut where run.id = cut.id and run.status in (${openRun})
     returning ${changedRun('false')}, run.error),
   steps as (
     update run_step set status = :status, error = moved.error, finished_at = atelier_now(),
            duration_ms = round(extract(epoch from atelier_now() - run_step.started_at) * 1000)
       from moved where run_step.run_id = moved.id and run_step.status in (${openStep})),
   ${closeWaitsSql('moved')},
   ${publishRunEventsSql('moved')}
   select id, automation_id as "automationId", is_test as "isTest", ${wakeDeliveries} from moved`,
});

export interface EndedRun {
  runId: string;
  state: WorkflowState;
  status: 'failed' | 'cancelled';
}

/** Ends the given runs whose workflow is closed. Each ends once, however many processes call this at the same time. */
async function endClosedRuns(database: Database, temporal: TemporalClient, runs: OpenRun[]): Promise<EndedRun[]> {
  const ended: EndedRun[] = [];
  for (const { id: runId, correlationId, ...tenant } of runs) {
    const state = await runWorkflowState(temporal, runId);
    if (state === 'open') continue;
    const { status, code = null, message = null } = ends[state];
    if (await new Scope(database, tenant, correlationId).one(endRun, { runId, status, code, message }))
      ended.push({ runId, state, status });
  }
  return ended;
}

/**
 * Ends runs whose Temporal workflow closed without recording it: terminated or cancelled by an operator, timed out, or
 * unknown to Temporal. Across all tenants.
 * @throws errors of Temporal and PostgreSQL; runs not checked by then are checked by a later call
 */
export async function reconcileRuns(
  database: Database,
  temporal: TemporalClient,
  { everyMs, batch }: ReconcilePolicy = defaultReconcilePolicy,
): Promise<EndedRun[]> {
  const runs = await sqlOn(database.pool).rows(leaseOpenRuns, { everyMs, limit: batch });
  return endClosedRuns(database, temporal, runs);
}

/** Ends the runs whose workflows were terminated or timed out. `reconcileRuns` ends older runs than this process. */
export function watchStoppedRuns(database: Database, temporal: TemporalClient): () => Promise<EndedRun[]> {
  const { executeRun, executeFlow } = automationWorkflows;
  const watches = [executeRun, executeFlow].map((type) =>
    watchStopped(
      { database, temporal },
      {
        queue: queues.runs,
        type,
        workflowId: runWorkflowId,
        hasOpen: hasOpenRuns,
        findOpen: findOpenRuns,
        end: (runs) => endClosedRuns(database, temporal, runs),
      },
    ),
  );
  return async () => (await Promise.all(watches.map((watch) => watch()))).flat();
}
