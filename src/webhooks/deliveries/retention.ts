import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import type { Environment } from '../../platform/tenant.ts';
import { tenancyLimits } from '../../tenancy/core/limits.ts';
import { openDelivery } from '../core/delivery-status.ts';

/**
 * Deliveries are kept a day longer than `recover` reaches back, so that it never finds an event whose delivery was
 * removed.
 */
const marginDays = 1;
/**
 * `recover` creates deliveries of events up to its maximum age, and those deliveries are kept for the same time again.
 */
const eventDaysSql = `2 * (kept.days::int + ${marginDays}) + 3`;
/** How long the progress of a recovery is kept. */
const recoveryDays = 91;
/** Tenants or webhooks that one look finds. */
const perLook = 100;

const keptByPlan = 'join jsonb_each_text(:retentionDaysByPlan) as kept (plan, days) on kept.plan = o.plan';
const noId = '00000000-0000-0000-0000-000000000000';

// Each webhook costs one index lookup, however much it stores.
const findSubscriptions = systemStatement({
  name: 'retention.subscriptions',
  parameters: { retentionDaysByPlan: 'jsonb', after: 'uuid' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text'), before: 'timestamptz' },
  text: `select s.id, s.organization_id as "organizationId", s.environment, bound.before
     from webhook_subscription s
     join organization o on o.id = s.organization_id
     ${keptByPlan}
    cross join lateral (select atelier_statement_now() - make_interval(days => kept.days::int + ${marginDays}) as before) bound
    cross join lateral (
      select from delivery d
       where d.subscription_id = s.id and d.created_at < bound.before and d.status not in (${openDelivery})
         and coalesce(d.finished_at, d.created_at) < bound.before
       order by d.created_at, d.id limit 1) old
    where s.id > :after
    order by s.id limit ${perLook}`,
});

const markRemoved = statement({
  name: 'retention.mark_removed',
  parameters: { id: 'uuid', before: 'timestamptz' },
  text: `update webhook_subscription set recoverable_from = greatest(recoverable_from, :before)
    where organization_id = :organizationId and environment = :environment and id = :id`,
});

const removeDeliveries = statement({
  name: 'retention.deliveries',
  parameters: { subscriptionId: 'uuid', before: 'timestamptz', limit: 'int' },
  row: { count: 'int' },
  text: `with old as (
     select id from delivery
      where organization_id = :organizationId and environment = :environment and subscription_id = :subscriptionId
        and created_at < :before
        and coalesce(finished_at, created_at) < :before and status not in (${openDelivery})
      order by created_at, id limit :limit for update skip locked),
   attempts as (delete from delivery_attempt where delivery_id in (select id from old)),
   gone as (delete from delivery where id in (select id from old) returning 1)
   select count(*)::int as count from gone`,
});

async function removeOldDeliveries(database: Database): Promise<number> {
  let removed = 0;
  for (let after = noId; ; ) {
    const due = await sqlOn(database.pool).rows(findSubscriptions, {
      retentionDaysByPlan: tenancyLimits.retentionDays.byPlan(),
      after,
    });
    for (const { id, before, ...tenant } of due) {
      const scope = new Scope(database, tenant, newId());
      // First: after a crash a recovery finds too little and not too much.
      await scope.rows(markRemoved, { id, before });
      removed += await inBatches(
        async (limit) => (await scope.one(removeDeliveries, { subscriptionId: id, before, limit }))!.count,
      );
    }
    if (due.length < perLook) return removed;
    after = due.at(-1)!.id;
  }
}

const findTenants = systemStatement({
  name: 'retention.tenants',
  parameters: { retentionDaysByPlan: 'jsonb', afterOrganizationId: 'uuid', afterEnvironment: 'text' },
  row: {
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    before: 'timestamptz',
    deliveriesBefore: 'timestamptz',
  },
  text: `select o.id as "organizationId", e.environment, bound.before, bound.deliveries_before as "deliveriesBefore"
     from organization o
     ${keptByPlan}
    cross join (values ('live'), ('test')) as e (environment)
    cross join lateral (
      select atelier_statement_now() - make_interval(days => ${eventDaysSql}) as before,
             atelier_statement_now() - make_interval(days => kept.days::int + ${marginDays}) as deliveries_before) bound
    cross join lateral (
      select from event
       where organization_id = o.id and environment = e.environment and created_at < bound.before
       order by created_at, id limit 1) old
    where (o.id, e.environment) > (:afterOrganizationId, :afterEnvironment)
    order by o.id, e.environment limit ${perLook}`,
});

// A delivery that was replayed, or waits for a webhook that is paused, may be older than its time. Few webhooks have such.
const removeEvents = statement({
  name: 'retention.events',
  parameters: { before: 'timestamptz', deliveriesBefore: 'timestamptz', limit: 'int' },
  row: { count: 'int' },
  text: `with leftover as materialized (
     select s.id from webhook_subscription s
      cross join lateral (
        select from delivery d where d.subscription_id = s.id and d.created_at < :deliveriesBefore
          order by d.created_at, d.id limit 1) old
      where s.organization_id = :organizationId and s.environment = :environment),
   gone as (
     delete from event where id in (
       select e.id from event e
        where e.organization_id = :organizationId and e.environment = :environment and e.created_at < :before
          and not exists (select from delivery where resent_event_id = e.id)
          and not exists (select from leftover l join delivery d on d.subscription_id = l.id and d.event_id = e.id)
          and not exists (select from event_fan_out f
                           where f.organization_id = :organizationId and f.environment = :environment
                             and f.event_id = e.id)
          and not exists (select from event_addressing a
                           where a.organization_id = :organizationId and a.environment = :environment
                             and a.event_id = e.id)
        order by e.created_at, e.id limit :limit)
     returning 1)
   select count(*)::int as count from gone`,
});

async function removeOldEvents(database: Database): Promise<number> {
  let removed = 0;
  const retentionDaysByPlan = tenancyLimits.retentionDays.byPlan();
  for (let after = { afterOrganizationId: noId, afterEnvironment: '' }; ; ) {
    const due = await sqlOn(database.pool).rows(findTenants, { retentionDaysByPlan, ...after });
    for (const { before, deliveriesBefore, ...tenant } of due) {
      const scope = new Scope(database, tenant, newId());
      const remove = async (limit: number) =>
        (await scope.one(removeEvents, { before, deliveriesBefore, limit }))!.count;
      removed += await inBatches(remove);
    }
    const last = due.at(-1);
    if (!last || due.length < perLook) return removed;
    after = { afterOrganizationId: last.organizationId, afterEnvironment: last.environment };
  }
}

/**
 * Removes the deliveries that ended longer ago than the plan of their organization keeps them, and events that no
 * delivery can need any more, of all tenants. Locks a batch of deliveries at a time, and no webhook with them.
 * @returns how many
 */
export async function forgetOldDeliveries(database: Database): Promise<number> {
  return (await removeOldDeliveries(database)) + (await removeOldEvents(database));
}

/** A host without attempts for a while can get all at once, so its row has no more effect. */
const forgetHosts = systemStatement({
  name: 'retention.hosts',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from webhook_host where host in (
       select host from webhook_host where free_at < (select atelier_now() - interval '1 day')
        order by host limit :limit for update skip locked)
     returning host)
   select count(*)::int as count from gone`,
});

/** Removes the pace of hosts without attempts. @returns how many */
export const forgetUnusedHosts = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).one(forgetHosts, { limit }))!.count;

// Ids begin with their time, so the oldest rows come first in the primary key. The bound is a subquery: a volatile function
// is evaluated for every row, and then the index cannot be used.
const forgetRecoveries = systemStatement({
  name: 'retention.recoveries',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with gone as (
     delete from recovery where id in (
       select id from recovery where id < (select uuidv7(make_interval(days => -${recoveryDays}))) order by id
         limit :limit)
     returning id)
   select count(*)::int as count from gone`,
});

/** Removes the progress of old recoveries. @returns how many */
export const forgetOldRecoveries = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).one(forgetRecoveries, { limit }))!.count;
