import type { Database } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { tenancyLimits } from '../tenancy/core/limits.ts';

interface DeletedSubscription extends Tenant {
  id: string;
}

const findDeleted = statement<DeletedSubscription>(
  'deleted_subscription.find',
  `select s.id, s.organization_id as "organizationId", s.environment
     from webhook_subscription s
     join organization o on o.id = s.organization_id
     join jsonb_each_text($1::jsonb) as kept (plan, days) on kept.plan = o.plan
    where s.deleted_at < now() - make_interval(days => kept.days::int)
      and not exists (select from delivery where subscription_id = s.id)
    order by s.deleted_at limit $2`,
);

/** What belongs to a webhook and is no delivery. */
const belongings = [
  'delivery_change',
  'delivery_block_count',
  'delivery_block',
  'attempt_hour',
  'retry_release',
  'recovery',
  'skipped_events',
];

const removeSubscription = statement<{ count: number }>(
  'deleted_subscription.remove',
  `with locked as (
     select id from webhook_subscription
      where organization_id = $1 and environment = $2 and id = $3 and deleted_at is not null for update),
   ${belongings.map((table) => `of_${table} as (delete from ${table} where subscription_id in (select id from locked))`).join(',\n   ')},
   gone as (delete from webhook_subscription where id in (select id from locked) returning 1)
   select count(*)::int as count from gone`,
);

/** Removes deleted webhooks of all tenants once the log of their deliveries is gone. @returns how many */
export async function forgetDeletedSubscriptions(database: Database, limit: number): Promise<number> {
  let removed = 0;
  for (const { id, ...tenant } of await sqlOn(database.pool).rows(findDeleted, [
    tenancyLimits.retentionDays.byPlan(),
    limit,
  ])) {
    removed += (await new Scope(database, tenant, newId()).one(removeSubscription, id))!.count;
  }
  return removed;
}
