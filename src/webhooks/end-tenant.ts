import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { deleteSubscription } from './change-subscription.ts';
import { openDelivery } from './core/delivery-status.ts';
import type { SubscribedTypes } from './subscribed-types.ts';

const findOpen = statement<{ id: string }>(
  'subscription.of_tenant',
  `select id from webhook_subscription where organization_id = $1 and environment = $2 and deleted_at is null limit 500`,
);

const hasOpenDeliveries = statement<{ found: boolean }>(
  'subscription.has_open_deliveries',
  `select exists (select from webhook_subscription s
                    join delivery d on d.subscription_id = s.id and d.status in (${openDelivery})
                   where s.organization_id = $1 and s.environment = $2) as found`,
);

/** Deletes the webhooks of a tenant. @returns whether deliveries of them are still to end */
export async function endSubscriptions(listening: SubscribedTypes, scope: Scope): Promise<boolean> {
  for (const { id } of await scope.rows(findOpen)) await deleteSubscription({ listening }, scope, id);
  return (await scope.one(hasOpenDeliveries))!.found;
}
