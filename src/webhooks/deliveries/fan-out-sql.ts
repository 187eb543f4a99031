import { statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import { deliveryColumns, listenersOf, newDelivery, wakeDeliveries } from './publish-event.ts';

/** Events that one statement reads at most. */
const perStatement = 200;

export interface WaitingTenant {
  organizationId: string;
  environment: Environment;
  isFull: boolean;
}

/** Tenants with events that were put off, in random order. Skips from tenant to tenant along the primary key. */
export const findTenants = systemStatement({
  name: 'fan_out.tenants',
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), isFull: 'boolean' },
  text: `with recursive tenant as (
     (select organization_id, environment, 1 as nth from event_fan_out order by organization_id, environment limit 1)
     union all
     select next.organization_id, next.environment, tenant.nth + 1
       from tenant cross join lateral (
         select organization_id, environment from event_fan_out
          where (organization_id, environment) > (tenant.organization_id, tenant.environment)
          order by organization_id, environment limit 1) next
      where tenant.nth < 1000)
   select t.organization_id as "organizationId", t.environment, coalesce(b.room <= 0, false) as "isFull"
     from tenant t left join delivery_backlog b on b.organization_id = t.organization_id
       and b.environment = t.environment
    order by random()`,
});

// Oldest first. What another process works on is left to it.
const picked = `picked as materialized (
     select f.event_id, f.after_id, e.type, e.created_at
       from (select event_id, after_id from event_fan_out where organization_id = :organizationId and environment = :environment
              order by event_id limit ${perStatement} for update skip locked) f
       left join lateral (select type, created_at from event where id = f.event_id offset 0) e on true),
   ${listenersOf('picked')}`;

// Webhooks that were created after the event do not get it here, and neither do those with a filter.
const addressees = (events: string) => `${events} p join listener l
         on l.type = p.type and l.created_at <= p.created_at and (p.after_id is null or l.id > p.after_id)
        and not l.reads_event`;

// A webhook that got its filter after the event has not been addressed: that is not known to a transaction before.
const toAddress = `to_address as (
     insert into event_addressing (organization_id, environment, event_id)
     select :organizationId, :environment, p.event_id from picked p
      where exists (select from listener l where l.type = p.type and l.reads_event
                     and l.rules_changed_at > p.created_at - interval '1 minute')
     on conflict (organization_id, environment, event_id) do nothing
     returning event_id)`;

/**
 * Creates the next deliveries of a tenant, at most `:perStep`: for as many whole events as fit, or for a part of one
 * event. The unique key of deliveries makes existing ones harmless.
 */
export const createDeliveries = statement({
  name: 'fan_out.create_deliveries',
  parameters: { perStep: 'int' },
  row: { events: 'int', deliveries: 'int' },
  text: `with ${picked},
   sized as (
     select p.*, coalesce(l.webhooks, 0) as webhooks, row_number() over (order by p.event_id) as nth,
            sum(coalesce(l.webhooks, 0)) over (order by p.event_id) as so_far
       from picked p
       left join (select type, count(*) as webhooks from listener where not reads_event group by type) l using (type)),
   ${toAddress},
   chosen as (select * from sized where so_far <= :perStep or nth = 1),
   target as materialized (
     select p.event_id, p.type, p.created_at, l.id as webhook_id from ${addressees('chosen')}
      order by p.event_id, l.id limit :perStep),
   new_delivery as (
     insert into delivery (${deliveryColumns})
     ${newDelivery('e', 's')} from target t
      cross join lateral (select t.event_id as id, t.type, t.created_at) e
      cross join lateral (select t.webhook_id as id) s
     on conflict (subscription_id, event_id) do nothing
     returning id),
   rest as (
     select t.event_id, (array_agg(t.webhook_id order by t.webhook_id desc))[1] as after_id
       from target t join chosen c on c.event_id = t.event_id and c.webhooks > :perStep
      group by t.event_id having count(*) = :perStep),
   moved as (
     update event_fan_out f set after_id = rest.after_id from rest
      where f.organization_id = :organizationId and f.environment = :environment and f.event_id = rest.event_id),
   done as (
     delete from event_fan_out f using chosen c
      where f.organization_id = :organizationId and f.environment = :environment and f.event_id = c.event_id
        and c.event_id not in (select event_id from rest))
   select (select count(*)::int from chosen) as events, (select count(*)::int from new_delivery) as deliveries,
          ${wakeDeliveries}`,
});

/** Counts the next events as skipped by the webhooks that listen to them. They stay recorded for `recover`. */
export const skipEvents = statement({
  name: 'fan_out.skip_events',
  row: { events: 'int' },
  text: `with ${picked},
   ${toAddress},
   missed as (
     select l.id, count(*)::int as count, min(p.created_at) as first_at, max(p.created_at) as last_at
       from ${addressees('picked')} group by l.id),
   counted as (
     insert into skipped_events as k (subscription_id, organization_id, environment, count, first_at, last_at)
     select id, :organizationId, :environment, count, first_at, last_at from missed order by id
     on conflict (subscription_id) do update
        set count = k.count + excluded.count, first_at = least(k.first_at, excluded.first_at),
            last_at = greatest(k.last_at, excluded.last_at)),
   done as (
     delete from event_fan_out f using picked p
      where f.organization_id = :organizationId and f.environment = :environment and f.event_id = p.event_id)
   select (select count(*)::int from picked) as events`,
});
