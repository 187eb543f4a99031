import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { openDelivery } from './core/delivery-status.ts';
import { deleteSubscription } from './subscriptions/change-subscription.ts';
import type { SubscribedTypes } from './subscriptions/subscribed-types.ts';

const findOpen = statement({
  name: 'subscription.of_tenant',
  row: { id: 'uuid' },
  text: `select id from webhook_subscription where organization_id = :organizationId and environment = :environment
    and deleted_at is null limit 500`,
});

const hasOpenDeliveries = statement({
  name: 'subscription.has_open_deliveries',
  row: { found: 'boolean' },
  text: `select exists (select from webhook_subscription s
                    join delivery d on d.subscription_id = s.id and d.status in (${openDelivery})
                   where s.organization_id = :organizationId and s.environment = :environment) as found`,
});

/** Deletes the webhooks of a tenant. @returns whether deliveries of them are still to end */
export async function endSubscriptions(listening: SubscribedTypes, scope: Scope): Promise<boolean> {
  for (const { id } of await scope.rows(findOpen)) await deleteSubscription({ listening }, scope, id);
  return (await scope.one(hasOpenDeliveries))!.found;
}
