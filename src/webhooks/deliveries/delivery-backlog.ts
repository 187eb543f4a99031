import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { openDelivery } from '../core/delivery-status.ts';
import { webhookLimits } from '../core/limits.ts';
import { subscriptionsOf } from '../dispatch/lease.ts';
import { isFirst } from '../dispatch/ready.ts';
import { isHeld } from '../dispatch/subject-order.ts';
import { isWaiting } from '../retries/retry-release.ts';
import { isBacklogFull } from './publish-event.ts';

/*
 * The number of waiting deliveries of a tenant is not counted with each delivery: a sweep counts them every few
 * seconds, and deliveries that the fan-out and recoveries create in between are subtracted at once. A webhook with many
 * deliveries gets its count from its blocks, see delivery-blocks.ts, so that the cost does not grow with the backlog.
 * The count is derived from the deliveries: a crash leaves nothing to repair.
 */

/** Waiting deliveries of a webhook that are counted one by one. */
const countedSingly = 2_000;

const countUpTo = (condition: string) =>
  `(select count(*)::int as count from (select from delivery where subscription_id = s.id and ${condition} limit ${countedSingly}) d)`;

const countWaiting = systemStatement({
  name: 'backlog.count',
  row: {
    organizationId: 'uuid',
    environment: typed<Environment>('text'),
    plan: typed<PlanName>('text'),
    waiting: 'float8',
    large: 'uuid[]',
  },
  text: `with due as (select id from ${subscriptionsOf(isFirst)} f union select id
    from ${subscriptionsOf(isWaiting)} w union select id from ${subscriptionsOf(isHeld)} h),
   counted as (
     select s.id, s.organization_id, s.environment, f.count + w.count + h.count as count,
            greatest(f.count, w.count, h.count) = ${countedSingly} as is_large
       from due join webhook_subscription s on s.id = due.id
      cross join lateral ${countUpTo(isFirst)} f cross join lateral ${countUpTo(isWaiting)} w
      cross join lateral ${countUpTo(isHeld)} h)
   select c.organization_id as "organizationId", c.environment, o.plan,
          coalesce(sum(c.count) filter (where not is_large), 0)::float8 as waiting,
          coalesce(array_agg(c.id) filter (where is_large), '{}') as large
     from counted c join organization o on o.id = c.organization_id
    group by 1, 2, 3`,
});

const isOpen = (column: string) => `coalesce(${column} in (${openDelivery}), false)::int`;
const noId = '00000000-0000-0000-0000-000000000000';

// The blocks up to the first that is not counted yet, and what lies behind them.
const countLarge = systemStatement({
  name: 'backlog.count_large',
  parameters: { subscriptionId: 'uuid' },
  row: { waiting: 'float8' },
  text: `with last as (
     select coalesce(b.ends_at, '-infinity') as ends_at, coalesce(b.ends_id, '${noId}') as ends_id
       from (select) as one left join lateral (
         select ends_at, ends_id from delivery_block
          where subscription_id = :subscriptionId and (ends_at, ends_id) < (coalesce(
            (select (ends_at, ends_id) from (
               select ends_at, ends_id from delivery_block where subscription_id = :subscriptionId and not is_counted
                order by ends_at, ends_id limit 1) uncounted), ('infinity'::timestamptz, '${noId}'::uuid)))
          order by ends_at desc, ends_id desc limit 1) b on true)
   select (coalesce((select sum(c.pending + c.retrying) from delivery_block_count c, last
                      where c.subscription_id = :subscriptionId
                        and (c.ends_at, c.ends_id) <= (last.ends_at, last.ends_id)), 0)
         + coalesce((select sum(${isOpen('becomes')} - ${isOpen('was')}) from delivery_change c, last
                      where c.subscription_id = :subscriptionId
                        and (c.ends_at, c.ends_id) <= (last.ends_at, last.ends_id)), 0)
         + (select count(*) from last join delivery d on d.subscription_id = :subscriptionId and d.status = 'pending'
           and d.attempts = 0
                      and d.created_at >= last.ends_at and (d.created_at, d.id) > (last.ends_at, last.ends_id))
         + (select count(*) from last join delivery d on d.subscription_id = :subscriptionId and d.status = 'retrying'
                      and d.created_at >= last.ends_at and (d.created_at, d.id) > (last.ends_at,
                        last.ends_id)))::float8 as waiting`,
});

// Most tenants are far from their limit and have no row.
const save = systemStatement({
  name: 'backlog.save',
  parameters: { organizationIds: 'uuid[]', environments: 'text[]', rooms: 'bigint[]' },
  text: `with given as (
     select * from unnest(:organizationIds, :environments, :rooms) as g (organization_id, environment, room)),
   gone as (
     delete from delivery_backlog b
      where not exists (select from given g where g.organization_id = b.organization_id
        and g.environment = b.environment))
   insert into delivery_backlog (organization_id, environment, room)
   select organization_id, environment, room from given order by organization_id, environment
   on conflict (organization_id, environment) do update set room = excluded.room`,
});

// Recoveries wait while the limit is reached, and have no entry of the outbox then.
const resumeRecoveries = systemStatement({
  name: 'backlog.resume_recoveries',
  text: `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at,
    available_at)
   select uuidv7(), r.organization_id, r.environment, 'webhook.recover', r.id, 'recovery', 0, atelier_now(),
     atelier_now()
     from recovery r
    where r.finished_at is null
      and not exists (select from delivery_backlog b where b.organization_id = r.organization_id
                       and b.environment = r.environment and b.room <= 0)
      and not exists (select from outbox o where o.kind = 'webhook.recover' and o.subject_id = r.id)
    order by r.id limit 100
   on conflict (kind, subject_id) do nothing`,
  enqueues: 'drain',
});

/**
 * Counts the waiting deliveries of all tenants and records how many more each may have; resumes recoveries that waited
 * for that.
 * @returns how many tenants have as many as they may
 */
export async function sweepDeliveryBacklog(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  const near: { organizationId: string; environment: string; room: number }[] = [];
  const counted = await sql.rows(countWaiting);
  for (const { organizationId, environment, plan, waiting, large } of counted) {
    let all = waiting;
    for (const id of large) all += (await sql.one(countLarge, { subscriptionId: id }))!.waiting;
    const limit = webhookLimits.waitingDeliveries.of(plan);
    if (all >= limit / 2) near.push({ organizationId, environment, room: limit - all });
  }
  await sql.rows(save, {
    organizationIds: near.map(({ organizationId }) => organizationId),
    environments: near.map(({ environment }) => environment),
    rooms: near.map(({ room }) => room),
  });
  await sql.rows(resumeRecoveries);
  return near.filter(({ room }) => room <= 0).length;
}

const findFull = statement({
  name: 'backlog.is_full',
  row: { isFull: 'boolean' },
  text: `select ${isBacklogFull} as "isFull"`,
});

/** Whether as many deliveries of the tenant wait as its plan allows. */
export const hasFullBacklog = async (scope: Scope): Promise<boolean> => (await scope.one(findFull))!.isFull;

const takeRoom = statement({
  name: 'backlog.take_room',
  parameters: { deliveries: 'bigint', limit: 'bigint' },
  text: `insert into delivery_backlog as b (organization_id, environment, room)
    values (:organizationId, :environment, :limit - :deliveries)
   on conflict (organization_id, environment) do update set room = b.room - :deliveries`,
});

const findPlan = statement({
  name: 'backlog.plan',
  row: { plan: typed<PlanName>('text') },
  text: `select plan from organization where id = :organizationId and :environment in ('live', 'test')`,
});

/** Notes deliveries that were created in bulk, until they are counted. */
export async function takeBacklogShare(scope: Scope, deliveries: number): Promise<void> {
  if (deliveries === 0) return;
  const { plan } = (await scope.one(findPlan))!;
  await scope.rows(takeRoom, { deliveries, limit: webhookLimits.waitingDeliveries.of(plan) });
}
