import { z } from '@hono/zod-openapi';
import { catalog } from '../../../src/integrations/catalog.ts';
import { integrationAuthExpired } from '../../../src/integrations/core/events.ts';
import { triggerEvents, triggerType } from '../../../src/integrations/trigger-events.ts';
import { type DocumentedEvent, documentEvent } from '../webhooks/event.ts';

const byType = new Map(triggerEvents.map((event) => [event.type, event]));

/** The events of providers, as webhooks below `/webhooks` get them. */
const ofProviders: readonly DocumentedEvent[] = catalog.flatMap((integration) =>
  Object.entries(integration.triggers).map(([name, { summary, data, example }]) => ({
    event: byType.get(triggerType(integration, name))!,
    summary,
    data: z.object({ integration: z.literal(integration.id), ...data.shape }),
    facts: { integration: integration.id, data: example },
  })),
);

export const integrationEventDocuments: readonly DocumentedEvent[] = [
  documentEvent(
    integrationAuthExpired,
    'The provider of an integration no longer accepts its access. Connect the integration again',
    z.object({ integration: z.string() }),
    { integration: 'slack' },
  ),
  ...ofProviders,
];
