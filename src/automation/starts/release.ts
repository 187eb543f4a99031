import { changeByTenant } from '../../platform/concurrency/tenant-batches.ts';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { type SqlType, typed } from '../../platform/database/sql-types.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { testSeconds } from '../core/mocks.ts';
import { openRun, type TerminalStatus } from '../core/run-status.ts';
import type { QueueReason } from '../core/starts.ts';
import { failPoint } from '../fail-points.ts';
import { type EndReason, endRuns, expired, testTimedOut, timedOut } from './end-runs.ts';

/**
 * Runs that waited for one reason now wait for the next one, or begin. The workflow is locked, so that a pause comes
 * before or after.
 * @param due conditions on the run `r`
 */
const releaseStatement = <const Given extends Record<string, SqlType>>(name: string, given: Given, due: string) =>
  statement({
    name: name,
    parameters: { ...given, correlationId: 'text' },
    row: { id: 'uuid', queuedFor: typed<QueueReason | null>('text?'), group: 'uuid?' },
    text: `with due as (
       select r.id, a.is_paused from run r join automation a on a.id = r.automation_id and a.deleted_at is null
        where r.organization_id = :organizationId and r.environment = :environment and r.status = 'queued' and ${due}
        order by r.priority, r.number limit 200 for update of r skip locked for share of a),
     moved as (
       update run set queued_for = case when due.is_paused then 'paused' when concurrency_group is not null then 'concurrency' end
         from due where run.id = due.id
       returning run.id, run.queued_for, run.concurrency_group, run.correlation_id),
     beginning as (select id, correlation_id from moved where queued_for is null),
     started as (
       ${enqueueSql('run.start', { subject: 'id', correlation: 'correlation_id', from: 'beginning' })}
       on conflict (kind, subject_id) do nothing),
     groups as (select distinct concurrency_group from moved where queued_for = 'concurrency'),
     asked as (
       ${enqueueSql('concurrency.admit', { subject: 'concurrency_group', correlation: ':correlationId', from: 'groups' })}
       ${replacingEarlier})
     select id, queued_for as "queuedFor", concurrency_group as "group" from moved`,
    enqueues: {
      'run.start': ({ id, queuedFor }) => (queuedFor ? undefined : { subjectId: id }),
      'concurrency.admit': ({ queuedFor, group }) =>
        queuedFor === 'concurrency' && group ? { subjectId: group } : undefined,
    },
  });

const releaseDelayed = releaseStatement(
  'run.release_delayed',
  { ids: 'uuid[]' },
  `r.id = any(:ids) and r.queued_for = 'delay'`,
);
const releasePaused = releaseStatement(
  'run.release_paused',
  { automationId: 'uuid' },
  `r.automation_id = :automationId and r.queued_for = 'paused' and not a.is_paused`,
);

// Groups whose runs wait: they may begin where the pause or the limit held them back.
const askGroups = statement({
  name: 'concurrency.ask_groups',
  parameters: { automationId: 'uuid', correlationId: 'text' },
  row: { group: 'uuid' },
  text: `with groups as (
     select distinct concurrency_group from run
      where organization_id = :organizationId and environment = :environment and automation_id = :automationId and status = 'queued'
        and queued_for = 'concurrency'),
   asked as (
     ${enqueueSql('concurrency.admit', { subject: 'concurrency_group', correlation: ':correlationId', from: 'groups', due: 'now' })}
     ${replacingEarlier})
   select concurrency_group as "group" from groups`,
  enqueues: 'drain',
});

/** Admits the runs of a workflow that was resumed, or whose limit was changed. Harmless without waiting runs. */
export async function releaseWorkflow(scope: Scope, automationId: string): Promise<void> {
  for (;;) {
    const released = await scope.rows(releasePaused, { automationId, correlationId: scope.correlationId });
    failPoint('run.released');
    if (released.length === 0) break;
  }
  await scope.rows(askGroups, { automationId, correlationId: scope.correlationId });
}

interface DueRun extends Tenant {
  id: string;
  /** Rows of steps that end with it. */
  weight: number;
  due: 'delay' | 'expiry' | 'time_limit' | 'test';
}

// Each of the four is one range of a small index, which is empty when idle.
const findDue = systemStatement({
  name: 'run.find_due',
  parameters: { limit: 'int' },
  row: {
    id: 'uuid',
    organizationId: 'uuid',
    environment: typed<Tenant['environment']>('text'),
    due: typed<DueRun['due']>('text'),
    weight: 'int',
  },
  text: `(select id, organization_id as "organizationId", environment, 'delay' as due, 0 as weight from run
       where status = 'queued' and queued_for = 'delay' and scheduled_for <= atelier_now()
       order by scheduled_for limit :limit)
    union all
     (select id, organization_id, environment, 'expiry', 0 from run
       where status = 'queued' and expires_at <= atelier_now() order by expires_at limit :limit)
    union all
     (select id, organization_id, environment, 'time_limit', total_steps from run
       where times_out_at <= atelier_now() order by times_out_at limit :limit)
    union all
     (select id, organization_id, environment, 'test', total_steps from run
       where is_test and status in (${openRun}) and created_at <= atelier_now() - interval '${testSeconds} seconds'
       order by created_at limit :limit)`,
});

interface DueRunServices {
  database: Database;
  waiters: Waiters;
  countRunEnd(status: TerminalStatus): void;
}

const reasons = { expiry: expired, time_limit: timedOut, test: testTimedOut } satisfies Record<string, EndReason>;

/**
 * Admits delayed runs that are due, and ends runs that expired or that exceeded their maximum duration, of all tenants.
 * @returns how many
 */
export function workOffDueRuns({ database, waiters, countRunEnd }: DueRunServices): Promise<number> {
  return inBatches(async (limit) => {
    const found = await sqlOn(database.pool).rows(findDue, { limit });
    const of = (due: DueRun['due']) => found.filter((run) => run.due === due);
    let changed = await changeByTenant(database, of('delay'), async (tx, runs) => {
      const ids = runs.map(({ id }) => id);
      const released = await tx.rows(releaseDelayed, { ids, correlationId: tx.correlationId });
      failPoint('run.released');
      return released.length;
    });
    for (const due of ['expiry', 'time_limit', 'test'] as const) {
      changed += await changeByTenant(database, of(due), async (tx, runs) => {
        const ids = runs.map(({ id }) => id);
        const ended = await endRuns(tx, ids, reasons[due]);
        for (const id of ended) {
          countRunEnd(reasons[due].status);
          waiters.notifyLocal(id);
        }
        return ended.length;
      });
    }
    return changed;
  }, 200);
}
