import type { EventType } from '../../platform/core/event-type.ts';
import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { testWebhook } from '../core/events.ts';
import { type ReplayedDelivery, type ReplayServices, requireActive } from '../dead-letters/replay.ts';
import { publishTestEvent } from './publish-event.ts';

type SendServices = Pick<ReplayServices, 'deliveries'>;

async function send<Facts>(
  services: SendServices,
  scope: Scope,
  subscriptionId: string,
  event: { declared: EventType<Facts>; facts: Facts },
  claim: IdempotencyClaim | undefined,
): Promise<Once<ReplayedDelivery>> {
  const publish = async (tx: Transaction): Promise<ReplayedDelivery> => {
    await requireActive(tx, subscriptionId);
    return { deliveryId: await publishTestEvent(tx, subscriptionId, event.declared, event.facts), status: 'pending' };
  };
  const once = await scope.transaction(publish, { claim });
  if (!once.replayed) services.deliveries.wake();
  return once;
}

/**
 * Sends a test event.
 * @throws AppError not_found, conflict when the webhook is turned off
 */
export function sendTestEvent(
  services: SendServices,
  scope: Scope,
  subscriptionId: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const facts = { webhookId: subscriptionId, message: 'This is a test.' };
  return send(services, scope, subscriptionId, { declared: testWebhook, facts }, claim);
}

/**
 * Sends the published example of an event type.
 * @param type one that is declared
 * @throws AppError not_found, conflict when the webhook is turned off
 */
export function sendExample(
  services: SendServices & { events: EventCatalog },
  scope: Scope,
  subscriptionId: string,
  type: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const declared = services.events.get(type)!;
  return send(services, scope, subscriptionId, { declared, facts: declared.example as never }, claim);
}
