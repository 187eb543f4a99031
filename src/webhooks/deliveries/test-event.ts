import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { testWebhook } from '../core/events.ts';
import { type ReplayedDelivery, type ReplayServices, requireActive } from '../dead-letters/replay.ts';
import { publishEventTo } from './publish-event.ts';

/**
 * Sends a test event.
 * @throws AppError not_found, conflict when it is turned off
 */
export async function sendTestEvent(
  services: Pick<ReplayServices, 'deliveries'>,
  scope: Scope,
  subscriptionId: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const facts = { webhookId: subscriptionId, message: 'This is a test.' };
  const send = async (tx: Transaction): Promise<ReplayedDelivery> => {
    await requireActive(tx, subscriptionId);
    return { deliveryId: await publishEventTo(tx, subscriptionId, testWebhook, facts), status: 'pending' };
  };
  const once = await scope.transaction(send, { claim });
  if (!once.replayed) services.deliveries.wake();
  return once;
}
