import { enqueueSql } from '../platform/enqueue.ts';
import { statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { automationLimits } from './core/limits.ts';

/** Bound to the parameter that `slotsOf` names. */
export const slotsByPlan = (): string => automationLimits.callingRuns.byPlan();

/** For SQL: how many runs of an organization may call out at the same time. */
export const slotsOf = (organization: string, byPlan: string) =>
  `(select coalesce(o.calling_runs, (${byPlan}::jsonb ->> o.plan)::int) from organization o where o.id = ${organization})`;

const inMs = (parameter: string) => `clock_timestamp() + make_interval(secs => ${parameter}::float8 / 1000)`;

// The row of totals decides, because an update sees its latest version: claims at the same time never get more slots than
// there are, in one statement. A run that has a slot keeps it, and one that waits goes on waiting.
export const claim = statement<{ held: boolean }>(
  'calling_run.claim',
  `with kept as (
     update calling_run set leased_until = ${inMs('$4')}
      where organization_id = $1 and environment = $2 and run_id = $3 and leased_until is not null),
   known as (
     select leased_until is not null as held from calling_run
      where organization_id = $1 and environment = $2 and run_id = $3),
   total as (
     insert into calling_total as t (organization_id, environment, held, waiting, is_admitting)
     select $1::uuid, $2::text, 1, 0, true where not exists (select from known)
     on conflict (organization_id, environment) do update
        set is_admitting = t.waiting = 0 and t.held < ${slotsOf('$1', '$5')},
            held = t.held + case when t.waiting = 0 and t.held < ${slotsOf('$1', '$5')} then 1 else 0 end,
            waiting = t.waiting + case when t.waiting = 0 and t.held < ${slotsOf('$1', '$5')} then 0 else 1 end
     returning is_admitting),
   placed as (
     insert into calling_run (run_id, organization_id, environment, leased_until)
     select $3::uuid, $1::uuid, $2::text, case when is_admitting then ${inMs('$4')} end from total
     returning leased_until is not null as held)
   select held from known union all select held from placed`,
);

const countOut = `
   total as (
     update calling_total t set held = t.held - gone.held, waiting = t.waiting - gone.waiting
       from (select coalesce(sum(slots) filter (where was_held), 0)::int as held,
                    count(*) filter (where not was_held)::int as waiting
               from removed) gone
      where t.organization_id = $1 and t.environment = $2
     returning t.waiting)
   select waiting from total`;

export const release = statement<{ waiting: number }>(
  'calling_run.release',
  `with removed as (
     delete from calling_run where organization_id = $1 and environment = $2 and run_id = $3
     returning leased_until is not null as was_held, 1 + extra as slots),${countOut}`,
);

/**
 * CTEs that release the slot of the run $3 in the statement that ends it.
 * @param changed a CTE with the columns of `changedRun`
 * @returns the CTE `released_total`, with how many runs are `waiting`; without rows when the run had no slot and did not wait
 */
export const releaseAtEndSql = (changed: string) => `
   released_slot as (
     delete from calling_run
      where organization_id = $1 and environment = $2 and run_id = $3
        and exists (select from ${changed} where status <> 'running')
     returning leased_until is not null as was_held, 1 + extra as slots),
   released_total as (
     update calling_total t set held = t.held - gone.held, waiting = t.waiting - gone.waiting
       from (select coalesce(sum(slots) filter (where was_held), 0)::int as held,
                    count(*) filter (where not was_held)::int as waiting
               from released_slot having count(*) > 0) gone
      where t.organization_id = $1 and t.environment = $2
     returning t.waiting)`;

/** Releases slots whose lease has expired. */
export const releaseExpired = statement<{ waiting: number }>(
  'calling_run.release_expired',
  `with removed as (
     delete from calling_run where run_id in (
       select run_id from calling_run
        where organization_id = $1 and environment = $2 and leased_until <= statement_timestamp() for update skip locked)
     returning leased_until is not null as was_held, 1 + extra as slots),${countOut}`,
);

/** The row is locked while runs are admitted: how many wait and how many slots are free does not change meanwhile. */
export const lockTotal = statement<{ free: number; waiting: number }>(
  'calling_run.lock_total',
  `select ${slotsOf('$1', '$3')} - held as free, waiting from calling_total
    where organization_id = $1 and environment = $2 for update`,
);

// Runs are admitted in the order of their creation, also those that waited before: their ids are in the order of time.
export const admitNext = statement<{ id: string; entryId: string }>(
  'calling_run.admit_next',
  `with next as (
     select run_id from calling_run where organization_id = $1 and environment = $2 and leased_until is null
      order by run_id limit $3 for update skip locked),
   admitted as (
     update calling_run c set leased_until = ${inMs('$4')} from next where c.run_id = next.run_id returning c.run_id as id),
   total as (
     update calling_total set held = held + (select count(*) from admitted), waiting = waiting - (select count(*) from admitted)
      where organization_id = $1 and environment = $2),
   enqueued as (
     ${enqueueSql('run.proceed', { subject: 'id', correlation: '$5', from: 'admitted' })}
     on conflict (kind, subject_id) do nothing
     returning subject_id, id)
   select subject_id as id, id as "entryId" from enqueued`,
  { enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) } },
);

/** Across all tenants. */
export const renew = statement(
  'calling_run.renew',
  `update calling_run set leased_until = clock_timestamp() + make_interval(secs => $2::float8 / 1000)
    where run_id in (select run_id from calling_run
                      where run_id = any($1::uuid[]) and leased_until is not null order by run_id for update)`,
);

/** Tenants with an expired slot, or with a free slot and runs that wait. */
export const findStalled = statement<Tenant>(
  'calling_run.find_stalled',
  `select organization_id as "organizationId", environment from calling_run
    where leased_until <= statement_timestamp() group by 1, 2
   union
   select organization_id, environment from calling_total t
    where t.waiting > 0 and t.held < ${slotsOf('t.organization_id', '$1')}`,
);
