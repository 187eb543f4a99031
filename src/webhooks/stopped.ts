import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { resumeDeliveryIfOpen } from './delivery-starts.ts';

const findStopped = statement<{ id: string }>(
  'delivery.stopped_with_subscription',
  `select id from delivery
    where organization_id = $1 and environment = $2 and subscription_id = $3 and attempts > 0 and id > $4
      and (status = 'failed' and error_class = 'subscription_deleted'
           or status = 'dead_lettered' and error_class = 'subscription_off')
    order by id limit $5`,
);

const batch = 200;

/**
 * Signals the workflows of deliveries whose subscription was turned off or deleted: the retry or the replay that they wait
 * for will not come.
 */
export async function resumeStopped(temporal: TemporalClient, scope: Scope, subscriptionId: string): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await scope.rows(findStopped, subscriptionId, after, batch);
    await Promise.all(rows.map(({ id }) => resumeDeliveryIfOpen(temporal, id)));
    if (rows.length < batch) return;
    after = rows.at(-1)!.id;
  }
}
