import { lockAllForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { openRun } from '../core/run-status.ts';
import { type WaitOutcome, type WaitType, waitStates } from '../core/waits.ts';

/** A new wait of a run's step. */
export interface NewWait {
  runId: string;
  /** Dotted, as in the step's row. */
  path: string;
  stepId: string;
  type: WaitType;
  /** When it ends by itself; absent when it does not. */
  until?: Date | undefined;
  /** The name of the event, and the CEL expression that it has to satisfy. */
  event?: string | undefined;
  match?: string | undefined;
  /** Seconds before now in which the event may have arrived. */
  lookBack?: number | undefined;
  /** The run or the job that it waits for. */
  subjectId?: string | undefined;
  /** Keeps its job from ending before the commit. @returns whether it has ended */
  hold?: ((tx: Transaction) => Promise<boolean>) | undefined;
}

const insertWait = statement({
  name: 'run_wait.open',
  parameters: {
    runId: 'uuid',
    path: 'text',
    type: 'text',
    stepId: 'text',
    until: 'timestamptz?',
    event: 'text?',
    match: 'text?',
    subjectId: 'uuid?',
    lookBack: 'int?',
  },
  row: { id: 'uuid' },
  text: `insert into run_wait as w (id, run_id, path, organization_id, environment, type, step_id, since, until, event, match, state,
                              subject_id, look_back)
   select uuidv7(), r.id, :path, :organizationId, :environment, :type, :stepId, atelier_now(), :until, :event, :match,
          'open', :subjectId, :lookBack
     from run r where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId and r.status in (${openRun})
   on conflict (run_id, path) do update
     set type = case when w.type = 'slot' then excluded.type else w.type end,
         until = case when w.type = 'slot' then excluded.until else w.until end,
         subject_id = case when w.type = 'slot' then excluded.subject_id else w.subject_id end
   returning id`,
});

const resolveEnded = statement({
  name: 'run_wait.resolve_ended',
  parameters: { waitId: 'uuid', runId: 'uuid?' },
  row: { id: 'uuid' },
  text: `with subject as (
     select status from run where organization_id = :organizationId and environment = :environment and id = :runId for share)
   update run_wait set state = 'resolved', outcome = '{"output": null}', resolved_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :waitId and state = 'open'
      and not exists (select from subject where status in (${openRun}))
   returning id`,
});

/**
 * Blocks the receipt of events for these waits until the commit, and waits for events that are being received: the
 * order of the commits decides which comes first. To be called once in a transaction, before the waits are opened.
 */
export async function lockEventNames(tx: Transaction, waits: readonly Pick<NewWait, 'event'>[]): Promise<void> {
  const names = new Set(waits.flatMap(({ event }) => (event === undefined ? [] : [`event:${event}`])));
  if (names.size > 0) await lockAllForTransaction(tx, [...names]);
}

/**
 * A step begins to wait. The wait that it opened before stays as it is, resolved or not; what waited for a slot may wait for
 * something else.
 * @returns the id of the wait; undefined when the run is over or gone
 */
export async function openWait(tx: Transaction, wait: NewWait): Promise<string | undefined> {
  const { runId, path, type, stepId, until = null, event = null } = wait;
  const { match = null, subjectId = null, lookBack = null, hold } = wait;
  // Before the wait itself, in the order in which the end of a job locks them.
  const hasEnded = await hold?.(tx);
  const row = await tx.one(insertWait, { runId, path, type, stepId, until, event, match, subjectId, lookBack });
  // A run that ended before the commit resolved nothing: it is looked at after its own commit, or keeps it waiting.
  if (row && type === 'workflow') await tx.rows(resolveEnded, { waitId: row.id, runId: subjectId });
  if (row && hasEnded) await resolveWait(tx, { waitId: row.id }, { output: null });
  // Events that arrive before the commit may be decided before it: they are looked up after it.
  if (row && event !== undefined) await tx.enqueue('event.look_back', row.id);
  return row?.id;
}

// A later entry replaces a waiting one: its signal may have been sent before this commit.
const resolve = (name: string, by: string) =>
  statement({
    name: name,
    parameters: { id: 'uuid', outcome: 'json', correlationId: 'text' },
    row: { id: 'uuid', entryId: 'uuid' },
    text: `with resolved as (
       update run_wait set state = 'resolved', outcome = :outcome, resolved_at = atelier_now()
        where organization_id = :organizationId and environment = :environment and ${by} = :id and state = 'open'
       returning run_id),
     runs as (select distinct run_id from resolved),
     enqueued as (
       ${enqueueSql('run.proceed', { subject: 'run_id', correlation: ':correlationId', from: 'runs' })}
       ${replacingEarlier}
       returning id, subject_id)
     select subject_id as id, id as "entryId" from enqueued`,
    enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
  });

const resolveById = resolve('run_wait.resolve', 'id');
const resolveBySubject = resolve('run_wait.resolve_subject', 'subject_id');

/**
 * Ends an open wait and has its run proceed, in the transaction of what ends it. The first one wins, by the order of the
 * commits.
 * @param wait its id, or what it waits for
 * @returns whether it was open until now
 */
export async function resolveWait(
  tx: Transaction,
  wait: { waitId: string } | { subjectId: string },
  outcome: WaitOutcome,
): Promise<boolean> {
  const json = JSON.stringify(outcome);
  const resolved =
    'waitId' in wait
      ? await tx.rows(resolveById, { id: wait.waitId, outcome: json, correlationId: tx.correlationId })
      : await tx.rows(resolveBySubject, { id: wait.subjectId, outcome: json, correlationId: tx.correlationId });
  return resolved.length > 0;
}

/** A CTE that closes the waits of runs that end. @param ended a CTE with the column `id` */
export const closeWaitsSql = (ended: string) => `
   closed_waits as (
     update run_wait set state = 'resolved', resolved_at = atelier_now()
      where run_id in (select id from ${ended}) and state in (${waitStates.sql('open')})
     returning id, type, subject_id)`;

const findLate = statement({
  name: 'run_wait.find_late',
  parameters: { runId: 'uuid', deadline: 'timestamptz' },
  row: { found: 'boolean' },
  text: `select exists (
           select from run_wait
            where organization_id = :organizationId and environment = :environment and run_id = :runId and state = 'open'
              and type in ('wait', 'event', 'approval') and until > :deadline) as found`,
});

/** Whether a run waits for a time, an event or a person for longer than until then. A run that it started is no such wait. */
export async function waitsBeyond(scope: Scope, runId: string, deadline: Date): Promise<boolean> {
  return (await scope.one(findLate, { runId, deadline }))!.found;
}
