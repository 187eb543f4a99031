import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { TemporalClient } from '../temporal/client.ts';

const findEnded = statement<{ id: string }>(
  'delivery.ended_with_subscription',
  `select id from delivery
    where organization_id = $1 and environment = $2 and subscription_id = $3 and status = 'failed'
      and error_class = 'subscription_deleted' and attempts > 0 and id > $4
    order by id limit $5`,
);

const batch = 200;

/** Ends the workflows in which deliveries of a subscription wait for a replay that will not come: it was deleted. */
export async function endParkedDeliveries(
  temporal: TemporalClient,
  scope: Scope,
  subscriptionId: string,
): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const rows = await scope.rows(findEnded, subscriptionId, after, batch);
    await Promise.all(rows.map(({ id }) => temporal.deliveries.resumeIfOpen(id)));
    if (rows.length < batch) return;
    after = rows.at(-1)!.id;
  }
}
