import { z } from '@hono/zod-openapi';
import { keyExpiring } from '../../../src/operations/core/events.ts';
import { documentEvent } from '../webhooks/event.ts';

const data = z.object({
  id: z.string().openapi({ description: 'The key, as `key_…`.' }),
  name: z.string(),
  lastFour: z.string().openapi({ description: 'The last four characters of the key.' }),
  expiresAt: z.iso.datetime(),
});

export const accountEvents = [
  documentEvent(keyExpiring, 'An API key expires within seven days', data, {
    keyId: '0199dddd-eeee-7fff-8000-111122223333',
    name: 'Orders',
    lastFour: 'x7Qa',
    expiresAt: '2026-11-28T09:30:00.000Z',
  }),
];
