import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type ReplayedDelivery, type ReplayServices, requireActive } from '../dead-letters/replay.ts';
import { contentExpunged } from '../errors.ts';
import { deliveriesChannel, deliveryColumns, eventIdOf, sendableEvent } from './publish-event.ts';

const resendStatement = statement({
  name: 'delivery.resend',
  parameters: { subscriptionId: 'uuid', deliveryId: 'uuid' },
  row: { id: 'uuid' },
  text: `with resent as (
     insert into delivery (${deliveryColumns}, resent_event_id, subject)
     select made.id, :organizationId, :environment, d.subscription_id, made.id, e.type, 'pending', 0, 0,
            atelier_now(), false, atelier_now(), e.id, d.subject
       from delivery d join event e on e.id = ${eventIdOf('d')} cross join lateral ${sendableEvent('e.id')} sendable
      cross join (select uuidv7() as id) made
      where d.organization_id = :organizationId and d.environment = :environment
        and d.subscription_id = :subscriptionId and d.id = :deliveryId
     returning id)
   select id, pg_notify('${deliveriesChannel}', '') from resent`,
});

/**
 * Delivers the event of a delivery once more, whatever became of that: as a new delivery. Ids are uuids of a
 * subscription and of a delivery of it.
 * @throws AppError not_found; conflict when the subscription is turned off, or the content was removed
 */
export async function resendDelivery(
  services: ReplayServices,
  scope: Scope,
  subscriptionId: string,
  deliveryId: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const resend = async (tx: Transaction): Promise<ReplayedDelivery> => {
    await requireActive(tx, subscriptionId);
    const resent = await tx.one(resendStatement, { subscriptionId, deliveryId });
    if (!resent) throw contentExpunged();
    return { deliveryId: resent.id, status: 'pending' };
  };
  const once = await scope.transaction(resend, { claim });
  if (!once.replayed) services.deliveries.wake();
  return once;
}
