import { type IdempotencyClaim, type Once, onceInScope } from '../platform/idempotency.ts';
import type { Scope } from '../platform/scope.ts';
import { testWebhook } from './core/events.ts';
import { publishEventTo } from './publish-event.ts';
import { type ReplayedDelivery, type ReplayServices, requireActive } from './replay.ts';

/**
 * Sends an event that says nothing, to see whether it arrives.
 * @throws AppError not_found, conflict when it is turned off
 */
export async function sendTestEvent(
  services: Pick<ReplayServices, 'deliveries'>,
  scope: Scope,
  subscriptionId: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const facts = { webhookId: subscriptionId, message: 'This is a test.' };
  const once = await onceInScope(scope, claim, subscriptionId, async (tx): Promise<ReplayedDelivery> => {
    await requireActive(tx, subscriptionId);
    return { deliveryId: await publishEventTo(tx, subscriptionId, testWebhook, facts), status: 'pending' };
  });
  if (!once.replayed) services.deliveries.wake();
  return once;
}
