import { actionRunIds } from '../../../../src/integrations/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { actionRunRoutes } from './action-runs.ts';
import { actionRoutes } from './actions.ts';
import { integrationConsentRoutes } from './consents.ts';
import { eventRoutes } from './events.ts';
import { integrationRoutes } from './integrations.ts';
import { triggerRoutes } from './triggers.ts';
import { integrationWebhookRoutes } from './webhooks.ts';

export const integrations: ApiFeature = {
  tags: [
    {
      name: 'Integrations',
      description: 'Connect third-party tools, call their actions, and receive their events.',
    },
  ],
  overview: {
    title: 'Integrations',
    text: 'Actions and events of Slack, Microsoft Teams, HubSpot, Salesforce and LinkedIn',
  },
  example: {
    title: 'Integrations',
    text: 'Connect an account: send its owner to `authUrl`. A test key connects an account of the sandbox at that address at once. Then act in it.',
    commands: ({ post, send }) => [
      post('/api/v1/integrations/slack/connect'),
      send('/api/v1/integrations/slack/actions/send_message', '{"channel": "C0123456789", "text": "Deployed."}'),
    ],
  },
  ids: [actionRunIds],
  routes: (services) => [
    integrationConsentRoutes(services),
    integrationRoutes(services),
    actionRoutes(services),
    actionRunRoutes(services),
    integrationWebhookRoutes(services),
    eventRoutes(services),
    triggerRoutes(services),
  ],
};
