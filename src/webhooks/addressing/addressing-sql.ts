import { statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import { subscriptionIs } from '../core/subscription-state.ts';
import { deliveriesChannel, deliveryColumns, listens, newDelivery, readsEvent } from '../deliveries/publish-event.ts';

/** A tenant's events belong to a process for so long, unless it renews the lease: another one waits so long after a crash. */
export const leaseMs = 6_000;
const leasedUntil = `atelier_now() + make_interval(secs => ${leaseMs / 1_000})`;

/** Events that one step reads at most, and bytes of their facts; one event at least. */
const perStep = { events: 100, bytes: 1_048_576 };

export interface TenantToAddress {
  organizationId: string;
  environment: Environment;
  isFull: boolean;
}

/** Tenants with events to address that no process works on, in random order. Skips along the primary key. */
export const findTenants = systemStatement({
  name: 'addressing.tenants',
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), isFull: 'boolean' },
  text: `with recursive tenant as (
     (select organization_id, environment, leased_until, 1 as nth from event_addressing
       order by organization_id, environment, event_id limit 1)
     union all
     select next.organization_id, next.environment, next.leased_until, tenant.nth + 1
       from tenant cross join lateral (
         select organization_id, environment, leased_until from event_addressing
          where (organization_id, environment) > (tenant.organization_id, tenant.environment)
          order by organization_id, environment, event_id limit 1) next
      where tenant.nth < 1000)
   select t.organization_id as "organizationId", t.environment, coalesce(b.room <= 0, false) as "isFull"
     from tenant t left join delivery_backlog b on b.organization_id = t.organization_id
       and b.environment = t.environment
    where t.leased_until is null or t.leased_until < atelier_now()
    order by random()`,
});

const ofTenant = 'organization_id = :organizationId and environment = :environment';

/** Leases the tenant's events. Its oldest event represents all of them, so that they are addressed in their order. */
export const claimTenant = statement({
  name: 'addressing.claim',
  parameters: { lease: 'uuid' },
  row: { headId: 'uuid' },
  text: `with head as materialized (
     select event_id from event_addressing where ${ofTenant} order by event_id limit 1 for update)
   update event_addressing a
      set lease = :lease, leased_until = ${leasedUntil} from head
    where a.organization_id = :organizationId and a.environment = :environment and a.event_id = head.event_id
      and (a.leased_until is null or a.leased_until < atelier_now())
   returning a.event_id as "headId"`,
});

/** A step takes longer than a lease where the pool is busy. */
export const renewLease = statement({
  name: 'addressing.renew',
  parameters: { headId: 'uuid', lease: 'uuid' },
  text: `update event_addressing set leased_until = ${leasedUntil}
    where ${ofTenant} and event_id = :headId and lease = :lease`,
});

/** Another process need not wait until the lease ends. */
export const releaseTenant = statement({
  name: 'addressing.release',
  parameters: { headId: 'uuid', lease: 'uuid' },
  text: `update event_addressing set lease = null, leased_until = null
    where ${ofTenant} and event_id = :headId and lease = :lease`,
});

/** A webhook that an event may go to. */
export interface Addressee {
  id: string;
  filter: string | null;
  /** Whether its deliveries about one subject wait for each other. */
  isOrdered: boolean;
}

/**
 * Webhooks that had no filter when the event was published already have their delivery; addressing them again is
 * harmless. Webhooks whose filter has since been removed have no delivery yet. They are included for a while, because a
 * publishing transaction may have begun before.
 */
const isAddressed = `l.created_at <= p.created_at and (p.after_id is null or l.id > p.after_id)
        and (l.reads_event or l.rules_changed_at > p.created_at - interval '1 minute')`;

/** The oldest events of the tenant, each with the next webhooks that it may go to, `:addressees` of them in all. */
export const readEvents = statement({
  name: 'addressing.read',
  parameters: { addressees: 'int' },
  row: {
    eventId: 'uuid',
    /** Null when the event was removed. */
    type: 'text?',
    facts: 'json?',
    createdAt: 'timestamptz?',
    addressees: typed<Addressee[]>('jsonb'),
  },
  text: `with picked as materialized (
     select a.event_id, a.after_id, e.type, e.facts, e.created_at,
            sum(octet_length(e.facts::text)) over (order by a.event_id) - octet_length(e.facts::text) as before
       from (select event_id, after_id from event_addressing where ${ofTenant} order by event_id
              limit ${perStep.events}) a
       left join lateral (select type, facts, created_at from event where id = a.event_id offset 0) e on true),
   part as materialized (select * from picked where coalesce(before, 0) < ${perStep.bytes}),
   listener as materialized (
     select t.type, s.id, s.filter, s.ordering <> 'none' as is_ordered, s.created_at, s.rules_changed_at, ${readsEvent('s')} as reads_event
       from (select distinct type from part) t
       join webhook_subscription s on s.organization_id = :organizationId and s.environment = :environment
        and ${subscriptionIs('s', 'active')} and ${listens('s', 't')}
        and (${readsEvent('s')} or s.rules_changed_at is not null)),
   pair as (
     select p.event_id, l.id, l.filter, l.is_ordered from part p join listener l on l.type = p.type and ${isAddressed}
      order by p.event_id, l.id limit :addressees)
   select p.event_id as "eventId", p.type, p.facts, p.created_at as "createdAt",
          coalesce((select jsonb_agg(jsonb_build_object('id', pair.id, 'filter', pair.filter, 'isOrdered', pair.is_ordered) order by pair.id)
                      from pair where pair.event_id = p.event_id), '[]') as addressees
     from part p order by p.event_id`,
});

/** Locks the lease for the end of a step. */
export const holdLease = statement({
  name: 'addressing.hold_lease',
  parameters: { headId: 'uuid', lease: 'uuid' },
  row: { headId: 'uuid' },
  text: `select event_id as "headId" from event_addressing
    where ${ofTenant} and event_id = :headId and lease = :lease for update`,
});

/** Counts filters that failed. Webhooks are locked in the order of their ids, before deliveries. */
export const countFilterErrors = statement({
  name: 'addressing.count_errors',
  parameters: { webhookIds: 'uuid[]', counts: 'int[]' },
  text: `with failed as (select * from unnest(:webhookIds, :counts) as f (id, count)),
   locked as (
     select s.id from webhook_subscription s
      where s.organization_id = :organizationId and s.environment = :environment and s.id in (select id from failed)
      order by s.id for no key update)
   update webhook_subscription s set filter_errors = s.filter_errors + f.count from failed f join locked using (id)
    where s.organization_id = :organizationId and s.environment = :environment and s.id = f.id`,
});

// The unique key of deliveries makes an existing one harmless.
export const createDeliveries = statement({
  name: 'addressing.create_deliveries',
  parameters: { eventIds: 'uuid[]', webhookIds: 'uuid[]', subjects: 'text?[]' },
  row: { deliveries: 'int' },
  text: `with matched as (
     select * from unnest(:eventIds, :webhookIds, :subjects) with ordinality as m (event_id, webhook_id, subject, nth)),
   new_delivery as (
     insert into delivery (${deliveryColumns}, subject)
     ${newDelivery('e', 's')}, m.subject from matched m
      cross join lateral (select id, type, created_at from event where id = m.event_id offset 0) e
       join webhook_subscription s on s.id = m.webhook_id and ${subscriptionIs('s', 'active')}
      order by m.nth
     on conflict (subscription_id, event_id) do nothing
     returning id)
   select (select count(*)::int from new_delivery) as deliveries,
          case when exists (select from new_delivery) then pg_notify('${deliveriesChannel}', '') end`,
});

/** While too many deliveries wait. The events stay recorded for `recover`. */
export const skipDeliveries = statement({
  name: 'addressing.skip_deliveries',
  parameters: { eventIds: 'uuid[]', webhookIds: 'uuid[]' },
  text: `insert into skipped_events as k (subscription_id, organization_id, environment, count, first_at, last_at)
   select m.webhook_id, :organizationId, :environment, count(*)::int, min(e.created_at), max(e.created_at)
     from unnest(:eventIds, :webhookIds) as m (event_id, webhook_id)
    cross join lateral (select created_at from event where id = m.event_id offset 0) e
    group by m.webhook_id order by m.webhook_id
   on conflict (subscription_id) do update
      set count = k.count + excluded.count, first_at = least(k.first_at, excluded.first_at),
          last_at = greatest(k.last_at, excluded.last_at)`,
});

/** Removes events that are addressed, and notes how far the next one is. */
export const advance = statement({
  name: 'addressing.advance',
  parameters: { doneIds: 'uuid[]', partialId: 'uuid?', afterId: 'uuid?' },
  text: `with done as (delete from event_addressing where ${ofTenant} and event_id = any(:doneIds))
   update event_addressing set after_id = :afterId, lease = null, leased_until = null
    where ${ofTenant} and event_id = :partialId`,
});
