import { countOfTenant, ofTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { testWebhook } from './core/events.ts';
import { deliveryIds, webhookIds } from './core/ids.ts';
import { webhookLimits } from './core/limits.ts';
import { findableWebhooks } from './findable.ts';
import { sealedColumns } from './subscriptions/subscription-secrets.ts';

export const webhooksDeclarations: OperatorDeclarations = {
  name: 'webhooks',
  scopes: [{ name: 'webhooks', position: 100 }],
  limits: webhookLimits,
  limitUse: {
    webhooks: { used: countOfTenant('webhook_subscription where deleted_at is null and') },
    waitingDeliveries: { left: ofTenant('room', 'delivery_backlog') },
  },
  events: [testWebhook],
  auditActions: {
    'webhook.create': webhookIds,
    'webhook.update': webhookIds,
    'webhook.delete': webhookIds,
    'webhook.rotate_secret': webhookIds,
    'delivery.replay': deliveryIds,
    'delivery.discard': deliveryIds,
    'delivery.expunge': deliveryIds,
  },
  findable: findableWebhooks,
  sealed: [{ table: 'webhook_subscription', columns: sealedColumns }],
};
