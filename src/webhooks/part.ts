import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { testWebhook } from './core/events.ts';
import { deliveryIds, eventIds, webhookIds } from './core/ids.ts';
import { type DeliveryPolicy, defaultDeliveryPolicy, scaled } from './delivery-policy.ts';
import { ensureDeliveryWorkflow } from './delivery-workflow.ts';
import { Delivery, DeliveryAttempt, Event, WebhookSubscription } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { deliveryGauges } from './gauges.ts';
import { deliveriesChannel } from './publish-event.ts';
import { forgetOldDeliveries } from './retention.ts';
import { webhookSettings } from './settings.ts';
import { resumeStopped } from './stopped.ts';
import { sweepTurnedOff } from './subscription-off.ts';
import { DeliveryWakeup } from './wakeup.ts';

const batch = 500;

export interface WebhookServices {
  /** Wakes the dispatcher of this process, where it has one. */
  deliveries: DeliveryWakeup;
  deliveryPolicy: DeliveryPolicy;
  /** The word in the names of the signature headers of family A. */
  webhookBrand: string;
  /** Counts an attempt of a delivery by the status that followed. */
  countAttempt(status: DeliveryStatus): void;
}

/** Outbound webhooks: subscriptions, events and their deliveries. */
export const webhooks: Part<Foundation, WebhookServices, typeof webhookSettings.shape> = {
  name: 'webhooks',
  entities: [WebhookSubscription, Event, Delivery, DeliveryAttempt],
  settings: webhookSettings,
  ids: [webhookIds, eventIds, deliveryIds],
  events: [testWebhook],
  auditActions: {
    'webhook.create': webhookIds,
    'webhook.update': webhookIds,
    'webhook.delete': webhookIds,
    'webhook.rotate_secret': webhookIds,
    'delivery.replay': deliveryIds,
    'delivery.discard': deliveryIds,
  },
  failPoints: failPoint.names,
  open({ env, notifications, metrics }) {
    const deliveries = new DeliveryWakeup();
    notifications.on(deliveriesChannel, () => deliveries.wake());
    const count = metrics.counter({
      name: 'atelier_delivery_attempts_total',
      help: 'Attempts of webhook deliveries that this process made, by the status that followed.',
      labelNames: ['status'],
    });
    return {
      deliveries,
      deliveryPolicy: scaled(defaultDeliveryPolicy, env.DELIVERY_TIME_SCALE ?? 1),
      webhookBrand: env.WEBHOOK_HEADER_BRAND,
      countAttempt: (status) => count({ status }),
    };
  },
  outbox: (services) => ({
    'delivery.follow': (scope, deliveryId) => ensureDeliveryWorkflow(services, scope, deliveryId),
    'subscription.stopped': (scope, subscriptionId) => resumeStopped(services.temporal, scope, subscriptionId),
  }),
  sweeps: ({ database }) => [
    { name: 'end deliveries of webhooks that are off', everyMs: 60_000, run: () => sweepTurnedOff(database) },
    {
      name: 'remove old deliveries',
      everyMs: 60_000,
      async run() {
        let total = 0;
        for (;;) {
          const removed = await forgetOldDeliveries(database, batch);
          total += removed;
          if (removed < batch) return total;
        }
      },
    },
  ],
  gauges: ({ observer }) => deliveryGauges(observer),
};
