import { z } from '@hono/zod-openapi';
import { integrationAuthExpired } from '../../../src/integrations/core/events.ts';
import { documentEvent } from '../webhooks/event.ts';

export const integrationEventDocuments = [
  documentEvent(
    integrationAuthExpired,
    'The provider of an integration takes our access no more: it has to be connected again',
    z.object({ integration: z.string() }),
    { integration: 'slack' },
  ),
];
