import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { directGraceMs, enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { openRun } from '../core/run-status.ts';
import type { Concurrency } from '../core/starts.ts';
import { failPoint } from '../fail-points.ts';
import { endRuns, superseded } from './end-runs.ts';

/** The lock of the transactions that decide which runs of a group begin. */
export const groupLock = (group: string): string => `concurrency ${group}`;

/** A run and the runs that led to it, some of which its group may contain. */
const ancestorsSql = `ancestors as (
     select r.id, r.parent_run_id from run r
      where r.organization_id = :organizationId and r.environment = :environment and r.id = :parentRunId
     union all
     select r.id, r.parent_run_id from ancestors join run r on r.id = ancestors.parent_run_id
      where r.organization_id = :organizationId and r.environment = :environment)`;

/** The state of a group when one of its runs is about to start. */
export const findStanding = statement({
  name: 'concurrency.standing',
  parameters: { automationId: 'uuid', group: 'uuid', parentRunId: 'uuid?' },
  row: { held: 'int', byAncestors: 'int', isAwaited: 'boolean' },
  text: `with recursive ${ancestorsSql},
   holders as (
     select id from run
      where organization_id = :organizationId and environment = :environment and concurrency_group = :group
        and slot = 'held' and status in (${openRun}))
   select (select count(*) from holders)::int as held,
          (select count(*) from holders join ancestors using (id))::int as "byAncestors",
          exists (select from run
                   where organization_id = :organizationId and environment = :environment and concurrency_group = :group
                     and slot = 'returning' and status in (${openRun}))
            or exists (select from run
                        where organization_id = :organizationId and environment = :environment
                          and automation_id = :automationId and queued_for = 'concurrency' and concurrency_group = :group
                          and status = 'queued') as "isAwaited"`,
});

/** The runs of a group that have had a slot for the longest time, except those that led to the new run. */
export const findOldestHolders = statement({
  name: 'concurrency.oldest_holders',
  parameters: { group: 'uuid', parentRunId: 'uuid?', count: 'int' },
  row: { id: 'uuid' },
  text: `with recursive ${ancestorsSql}
   select id from run
    where organization_id = :organizationId and environment = :environment and concurrency_group = :group
      and slot = 'held' and status in (${openRun}) and id not in (select id from ancestors)
    order by number limit :count`,
});

/** The reaction to a start over the limit of its group, or an immediate start. */
type StartDecision = { kind: 'start' | 'queue' | 'skip' } | { kind: 'supersede'; runIds: string[] };

interface GroupOfStart {
  automationId: string;
  group: string;
  concurrency: Concurrency;
  parentRunId?: string | undefined;
}

/**
 * Decides whether a run of a group can begin. Locks the group until the commit, so that no other decision is made at
 * the same time: a group never has more runs than its limit.
 */
export async function decideStart(
  tx: Transaction,
  { automationId, group, concurrency, parentRunId }: GroupOfStart,
): Promise<StartDecision> {
  await lockForTransaction(tx, groupLock(group));
  const { limit, strategy } = concurrency;
  const standing = (await tx.one(findStanding, { automationId, group, parentRunId: parentRunId ?? null }))!;
  const { held, byAncestors, isAwaited } = standing;
  if (strategy === 'queue') return { kind: held >= limit || isAwaited ? 'queue' : 'start' };
  if (held < limit || held === byAncestors) return { kind: 'start' };
  if (strategy === 'skip') return { kind: 'skip' };
  const count = held - limit + 1;
  const oldest = await tx.rows(findOldestHolders, { group, parentRunId: parentRunId ?? null, count });
  return { kind: 'supersede', runIds: oldest.map(({ id }) => id) };
}

const forgetEntry = statement({
  name: 'concurrency.forget_entry',
  parameters: { group: 'uuid' },
  text: `delete from outbox where organization_id = :organizationId and environment = :environment
            and kind = 'concurrency.admit' and subject_id = :group`,
});

// The current limit of the workflow: a change applies to waiting runs too. None: every run begins.
export const findLimit = statement({
  name: 'concurrency.limit',
  parameters: { group: 'uuid' },
  row: { automationId: 'uuid', isPaused: 'boolean', concurrency: typed<Concurrency | null>('jsonb?') },
  text: `select a.id as "automationId", a.is_paused as "isPaused", d.concurrency::jsonb as concurrency
     from automation a join definition d on d.id = a.definition_id
    where a.organization_id = :organizationId and a.environment = :environment and a.deleted_at is null
      and a.id = (select automation_id from run
                   where organization_id = :organizationId and environment = :environment and concurrency_group = :group
                     and status in (${openRun})
                   limit 1)`,
});

const admitReturning = statement({
  name: 'concurrency.admit_returning',
  parameters: { group: 'uuid', count: 'int', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
  text: `with admitted as (
     update run set slot = 'held'
      where id in (select id from run
                    where organization_id = :organizationId and environment = :environment and concurrency_group = :group
                      and slot = 'returning' and status in (${openRun})
                    order by number limit :count for update)
     returning id),
   enqueued as (
     ${enqueueSql('run.proceed', { subject: 'id', correlation: ':correlationId', from: 'admitted' })}
     ${replacingEarlier}
     returning id, subject_id)
   select subject_id as id, id as "entryId" from enqueued`,
});

const admitQueued = statement({
  name: 'concurrency.admit_queued',
  parameters: { automationId: 'uuid', group: 'uuid', count: 'int' },
  row: { id: 'uuid' },
  enqueues: { 'run.start': ({ id }) => ({ subjectId: id }) },
  text: `with next as (
     select id from run
      where organization_id = :organizationId and environment = :environment and automation_id = :automationId
        and queued_for = 'concurrency' and concurrency_group = :group and status = 'queued'
        and coalesce(expires_at > atelier_now(), true)
      order by priority, number limit :count for update),
   admitted as (
     update run set queued_for = null, slot = 'held' from next where run.id = next.id
     returning run.id, run.correlation_id),
   enqueued as (
     insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
     select uuidv7(), :organizationId, :environment, 'run.start', id, correlation_id, 0,
            atelier_now(), atelier_now() + make_interval(secs => ${directGraceMs / 1000})
       from admitted
     on conflict (kind, subject_id) do nothing
     returning subject_id)
   select subject_id as id from enqueued`,
});

/** Runs that one transaction lets begin. */
const batchSize = 200;

async function admitSome(tx: Transaction, group: string): Promise<boolean> {
  await lockForTransaction(tx, groupLock(group));
  // Before the standing is read: an end that commits later has an entry of its own.
  await tx.rows(forgetEntry, { group });
  const found = await tx.one(findLimit, { group });
  if (!found) return false;
  const { automationId, isPaused, concurrency } = found;
  const { held } = (await tx.one(findStanding, { automationId, group, parentRunId: null }))!;
  const free = Math.min(batchSize, (concurrency?.limit ?? Number.POSITIVE_INFINITY) - held);
  if (free <= 0) return false;
  const { correlationId } = tx;
  const returned = await tx.rows(admitReturning, { group, count: free, correlationId });
  const left = free - returned.length;
  if (left === 0 || isPaused) return returned.length === batchSize;
  const admitted = await tx.rows(admitQueued, { automationId, group, count: left });
  failPoint('concurrency.before-commit');
  return returned.length + admitted.length === batchSize;
}

/**
 * Admits the next runs of a group, up to the number of free slots of its limit: first the runs that had a slot before,
 * then by priority, then in the order of creation. Harmless without such runs.
 */
export async function admitNext(scope: Scope, group: string): Promise<void> {
  while (await scope.transaction((tx) => admitSome(tx, group)));
}

/** Ends the runs whose place a new one takes, in the transaction of its start. */
export const supersede = (tx: Transaction, runIds: readonly string[]): Promise<string[]> =>
  endRuns(tx, runIds, superseded);
