import type { Scope } from '../platform/scope.ts';
import { announceTo } from './announce.ts';
import { type ReplayedDelivery, type ReplayServices, requireActive } from './replay.ts';

/**
 * Sends an event that says nothing, to see whether it arrives.
 * @throws AppError not_found, conflict when it is turned off
 */
export async function sendTestEvent(
  services: Pick<ReplayServices, 'deliveries'>,
  scope: Scope,
  subscriptionId: string,
): Promise<ReplayedDelivery> {
  const deliveryId = await scope.transaction(async (tx) => {
    await requireActive(tx, subscriptionId);
    return announceTo(tx, subscriptionId, 'test.webhook', { webhookId: subscriptionId, message: 'This is a test.' });
  });
  services.deliveries.wake();
  return { deliveryId, status: 'pending' };
}
