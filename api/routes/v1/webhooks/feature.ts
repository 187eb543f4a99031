import { deliveryIds, webhookIds } from '../../../../src/webhooks/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { deliveryRoutes } from './deliveries.ts';
import { eventCatalogRoutes } from './event-catalog.ts';
import { eventListRoutes } from './event-list.ts';
import { replayRoutes } from './replay.ts';
import { statisticsRoutes } from './statistics.ts';
import { webhookRoutes } from './webhooks.ts';

export const webhooks: ApiFeature = {
  tags: [{ name: 'Webhooks', description: 'Subscribe URLs to events, and inspect and replay deliveries.' }],
  overview: { title: 'Webhooks', text: 'Signed events, with retries and replay' },
  example: {
    title: 'Webhooks',
    text: 'Have events sent to an address of yours. The answer has the secret that signs them. The bodies of all events are listed under Webhooks at the end of this page.',
    commands: ({ send }) => [
      send(
        '/api/v1/webhooks',
        '{"name": "Orders", "url": "https://hooks.example.com/runs", "events": ["workflow.run.completed"]}',
      ),
    ],
  },
  ids: [webhookIds, deliveryIds],
  routes: (services) => [
    eventCatalogRoutes(services),
    eventListRoutes(services),
    webhookRoutes(services),
    statisticsRoutes(services),
    deliveryRoutes(services),
    replayRoutes(services),
  ],
};
