import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { Environment } from '../../platform/tenant.ts';
import { automationLimits } from '../core/limits.ts';

/** Bound to the parameter that `slotsOf` names. */
export const slotsByPlan = (): string => automationLimits.callingRuns.byPlan();

/** For SQL: how many runs of an organization may call out at the same time. */
export const slotsOf = (organization: string, byPlan: string) =>
  `(select coalesce(o.calling_runs, (${byPlan}::jsonb ->> o.plan)::int) from organization o where o.id = ${organization})`;

const inMs = (parameter: string) => `atelier_now() + make_interval(secs => ${parameter}::float8 / 1000)`;

// The row of totals decides, because an update sees its latest version: claims at the same time never get more slots
// than there are, in one statement. A run that has a slot keeps it, and a waiting run continues to wait. A flow's waiting
// steps are written with its place, so that no reader sees the place without them.
const claim = statement({
  name: 'calling_run.claim',
  parameters: { runId: 'uuid', leaseMs: 'float8', slotsByPlan: 'jsonb', steps: 'json?' },
  row: { held: 'boolean' },
  text: `with kept as (
     update calling_run set leased_until = ${inMs(':leaseMs')}
      where organization_id = :organizationId and environment = :environment and run_id = :runId and leased_until is not null),
   known as (
     select leased_until is not null as held from calling_run
      where organization_id = :organizationId and environment = :environment and run_id = :runId),
   total as (
     insert into calling_total as t (organization_id, environment, held, waiting, is_admitting)
     select :organizationId, :environment, 1, 0, true where not exists (select from known)
     on conflict (organization_id, environment) do update
        set is_admitting = t.waiting = 0 and t.held < ${slotsOf(':organizationId', ':slotsByPlan')},
            held = t.held + case when t.waiting = 0 and t.held < ${slotsOf(':organizationId', ':slotsByPlan')} then 1 else 0 end,
            waiting = t.waiting + case when t.waiting = 0 and t.held < ${slotsOf(':organizationId', ':slotsByPlan')} then 0 else 1 end
     returning is_admitting),
   placed as (
     insert into calling_run (run_id, organization_id, environment, leased_until, steps)
     select :runId, :organizationId, :environment, case when is_admitting then ${inMs(':leaseMs')} end,
            case when not is_admitting then :steps end from total
     returning leased_until is not null as held)
   select held from known union all select held from placed`,
});

const countOut = `
   total as (
     update calling_total t set held = t.held - gone.held, waiting = t.waiting - gone.waiting
       from (select coalesce(sum(slots) filter (where was_held), 0)::int as held,
                    count(*) filter (where not was_held)::int as waiting
               from removed) gone
      where t.organization_id = :organizationId and t.environment = :environment
     returning t.waiting)
   select waiting from total`;

const release = statement({
  name: 'calling_run.release',
  parameters: { runId: 'uuid' },
  row: { waiting: 'int' },
  text: `with removed as (
     delete from calling_run where organization_id = :organizationId and environment = :environment and run_id = :runId
     returning leased_until is not null as was_held, 1 + extra as slots),${countOut}`,
});

/**
 * CTEs that release the slot of the run `:runId` in the statement that ends it.
 * @param changed a CTE with the columns of `changedRun`
 * @returns the CTE `released_total`, with how many runs are `waiting`; without rows when the run had no slot and did not wait
 */
export const releaseAtEndSql = (changed: string) => `
   released_slot as (
     delete from calling_run
      where organization_id = :organizationId and environment = :environment and run_id = :runId
        and exists (select from ${changed} where status <> 'running')
     returning leased_until is not null as was_held, 1 + extra as slots),
   released_total as (
     update calling_total t set held = t.held - gone.held, waiting = t.waiting - gone.waiting
       from (select coalesce(sum(slots) filter (where was_held), 0)::int as held,
                    count(*) filter (where not was_held)::int as waiting
               from released_slot having count(*) > 0) gone
      where t.organization_id = :organizationId and t.environment = :environment
     returning t.waiting)`;

/** Releases slots whose lease has expired. */
const releaseExpired = statement({
  name: 'calling_run.release_expired',
  row: { waiting: 'int' },
  text: `with removed as (
     delete from calling_run where run_id in (
       select run_id from calling_run
        where organization_id = :organizationId and environment = :environment and leased_until <= atelier_statement_now() for update skip locked)
     returning leased_until is not null as was_held, 1 + extra as slots),${countOut}`,
});

/** The row is locked while runs are admitted: how many wait and how many slots are free does not change meanwhile. */
const lockTotal = statement({
  name: 'calling_run.lock_total',
  parameters: { slotsByPlan: 'jsonb' },
  row: { free: 'int', waiting: 'int' },
  text: `select ${slotsOf(':organizationId', ':slotsByPlan')} - held as free, waiting from calling_total
    where organization_id = :organizationId and environment = :environment for update`,
});

// Runs are admitted in the order of their creation, including runs that waited before: their ids are in the order of
// time. An entry that waits is replaced: its signal may have been sent before this commit.
const admitNext = statement({
  name: 'calling_run.admit_next',
  parameters: { limit: 'int', leaseMs: 'float8', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  text: `with next as (
     select run_id from calling_run where organization_id = :organizationId and environment = :environment and leased_until is null
      order by run_id limit :limit for update skip locked),
   admitted as (
     update calling_run c set leased_until = ${inMs(':leaseMs')} from next where c.run_id = next.run_id returning c.run_id as id),
   total as (
     update calling_total set held = held + (select count(*) from admitted), waiting = waiting - (select count(*) from admitted)
      where organization_id = :organizationId and environment = :environment),
   enqueued as (
     ${enqueueSql('run.proceed', {
       subject: 'id',
       correlation: ':correlationId',
       from: '(select id from admitted order by id) as ordered',
     })}
     ${replacingEarlier}
     returning subject_id, id)
   select subject_id as id, id as "entryId" from enqueued`,
  enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});

/** Across all tenants. */
const renew = systemStatement({
  name: 'calling_run.renew',
  parameters: { runIds: 'uuid[]', leaseMs: 'float8' },
  text: `update calling_run set leased_until = atelier_now() + make_interval(secs => :leaseMs / 1000)
    where run_id in (select run_id from calling_run
                      where run_id = any(:runIds) and leased_until is not null order by run_id for update)`,
});

/** Tenants with an expired slot, or with a free slot and runs that wait. */
const findStalled = systemStatement({
  name: 'calling_run.find_stalled',
  parameters: { slotsByPlan: 'jsonb' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select organization_id as "organizationId", environment from calling_run
    where leased_until <= atelier_statement_now() group by 1, 2
   union
   select organization_id, environment from calling_total t
    where t.waiting > 0 and t.held < ${slotsOf('t.organization_id', ':slotsByPlan')}`,
});

/** A step of a flow, as a reader of its run sees it. */
export interface WaitingStep {
  stepId: string;
  /** Dotted. */
  path: string;
}

interface ActiveRunPolicy {
  /** How long a slot outlives the process that holds it. */
  leaseMs: number;
  /** How long an admitted run may take to use its slot. */
  admittedMs: number;
  /** How often a process renews its slots, and looks for slots whose lease has expired. */
  everyMs: number;
}

const defaultActiveRunPolicy: ActiveRunPolicy = { leaseMs: 30_000, admittedMs: 60_000, everyMs: 5_000 };

/**
 * Limits how many runs of an organization and environment call out at the same time. The plan sets the number of slots;
 * further runs wait in the order in which they were created. A waiting run costs a row, and its workflow waits for a signal.
 * A slot is leased, so that those of a killed worker become free.
 */
export class ActiveRunLimiter {
  readonly #policy: ActiveRunPolicy;
  /** Runs with a slot whose step this process is executing. */
  readonly #held = new Set<string>();

  constructor(policy: ActiveRunPolicy = defaultActiveRunPolicy) {
    this.#policy = policy;
  }

  /**
   * @param steps those of a flow that wait when it gets no slot, for readers of the run
   * @returns whether the run has a slot. Without one it waits: its workflow is signalled when it has one.
   */
  async claim(scope: Scope, runId: string, steps: readonly WaitingStep[] | null = null): Promise<boolean> {
    const { leaseMs } = this.#policy;
    const asJson = steps && JSON.stringify(steps);
    const { held } = (await scope.one(claim, { runId, leaseMs, slotsByPlan: slotsByPlan(), steps: asJson }))!;
    if (held) this.#held.add(runId);
    return held;
  }

  /** The step that this process executed has ended, but the run keeps its slot for the next one. */
  handOver(runId: string): void {
    this.#held.delete(runId);
  }

  /**
   * Releases the slot of a run, or ends its wait, and admits the next run. Harmless when it has neither. A slot that
   * cannot be released is no longer renewed, so it expires.
   */
  async release(scope: Scope, runId: string): Promise<void> {
    this.#held.delete(runId);
    const total = await scope.one(release, { runId });
    await this.released(scope, runId, total?.waiting ?? 0);
  }

  /** To be called when another statement released the slot of a run, with how many wait. Admits the next run. */
  async released(scope: Scope, runId: string, waiting: number): Promise<void> {
    this.#held.delete(runId);
    if (waiting > 0) await this.#admitNext(scope);
  }

  /** Admits the next run, after a run has released slots besides its own. */
  async freed(scope: Scope, waiting: number): Promise<void> {
    if (waiting > 0) await this.#admitNext(scope);
  }

  async #admitNext(scope: Scope): Promise<void> {
    await scope.transaction(async (tx) => {
      const total = await tx.one(lockTotal, { slotsByPlan: slotsByPlan() });
      if (!total || total.waiting === 0 || total.free <= 0) return;
      const { correlationId } = scope;
      await tx.rows(admitNext, { limit: total.free, leaseMs: this.#policy.admittedMs, correlationId });
    });
  }

  /**
   * Renews the slots of this process, releases slots whose lease has expired, and admits waiting runs, across all
   * tenants.
   */
  async tend(database: Database): Promise<void> {
    const sql = sqlOn(database.pool);
    if (this.#held.size > 0) await sql.rows(renew, { runIds: [...this.#held], leaseMs: this.#policy.leaseMs });
    for (const tenant of await sql.rows(findStalled, { slotsByPlan: slotsByPlan() })) {
      const scope = new Scope(database, tenant, newId());
      await scope.one(releaseExpired);
      await this.#admitNext(scope);
    }
  }

  /** Does that until it is stopped. */
  async keepTending(database: Database, log: Log, stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      await this.tend(database).catch((error) =>
        log.warn({ err: error }, 'slots of runs that call out were not renewed'),
      );
      await sleep(this.#policy.everyMs, undefined, { signal: stopping }).catch(() => {});
    }
  }
}
