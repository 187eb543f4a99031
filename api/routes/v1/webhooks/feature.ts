import { deliveryIds, webhookIds } from '../../../../src/webhooks/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { webhookEvents } from '../../../schemas/webhooks/event.ts';
import { deliveryRoutes } from './deliveries.ts';
import { replayRoutes } from './replay.ts';
import { webhookRoutes } from './webhooks.ts';

export const webhooks: ApiFeature = {
  tags: [{ name: 'Webhooks', description: 'Subscribe URLs to events, and inspect and replay deliveries.' }],
  ids: [webhookIds, deliveryIds],
  routes: (services) => [webhookRoutes(services), deliveryRoutes(services), replayRoutes(services)],
  events: webhookEvents,
};
