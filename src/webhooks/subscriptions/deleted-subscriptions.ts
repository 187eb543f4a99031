import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import type { Environment } from '../../platform/tenant.ts';
import { tenancyLimits } from '../../tenancy/core/limits.ts';

const findDeleted = systemStatement({
  name: 'deleted_subscription.find',
  parameters: { retentionDaysByPlan: 'jsonb', limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select s.id, s.organization_id as "organizationId", s.environment
     from webhook_subscription s
     join organization o on o.id = s.organization_id
     join jsonb_each_text(:retentionDaysByPlan) as kept (plan, days) on kept.plan = o.plan
    where s.deleted_at < atelier_statement_now() - make_interval(days => kept.days::int)
      and not exists (select from delivery where subscription_id = s.id)
    order by s.deleted_at limit :limit`,
});

/** What belongs to a webhook and is no delivery. */
const belongings = [
  'delivery_change',
  'delivery_block_count',
  'delivery_block',
  'attempt_hour',
  'attempt_minute',
  'retry_release',
  'recovery',
  'skipped_events',
];

const removeSubscription = statement({
  name: 'deleted_subscription.remove',
  parameters: { id: 'uuid' },
  row: { count: 'int' },
  text: `with locked as (
     select id from webhook_subscription
      where organization_id = :organizationId and environment = :environment and id = :id
        and deleted_at is not null for update),
   ${belongings
     .map(
       (table) => `of_${table} as (delete from ${table} where subscription_id in (select id
     from locked))`,
     )
     .join(',\n   ')},
   gone as (delete from webhook_subscription where id in (select id from locked) returning 1)
   select count(*)::int as count from gone`,
});

/** Removes deleted webhooks of all tenants after the log of their deliveries was removed. @returns how many */
export async function forgetDeletedSubscriptions(database: Database, limit: number): Promise<number> {
  let removed = 0;
  for (const { id, ...tenant } of await sqlOn(database.pool).rows(findDeleted, {
    retentionDaysByPlan: tenancyLimits.retentionDays.byPlan(),
    limit,
  })) {
    removed += (await new Scope(database, tenant, newId()).one(removeSubscription, { id }))!.count;
  }
  return removed;
}
