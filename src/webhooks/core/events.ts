import { defineEvent } from '../../platform/core/event-type.ts';
import { text } from '../../platform/core/json-schema.ts';
import { webhookIds } from './ids.ts';

/** In a subscription's `events`: all types, future ones included. */
export const everyEvent = '*';

export const testWebhook = defineEvent({
  type: 'test.webhook',
  description: 'A test of a webhook was requested. It is sent to that webhook alone.',
  since: '2026-11-21',
  data: ({ webhookId, message }: { webhookId: string; message: string }) => ({
    webhookId: webhookIds.format(webhookId),
    message,
  }),
  members: { webhookId: text('The webhook, as `whk_…`.'), message: text() },
  example: { webhookId: '0199cccc-dddd-7eee-8fff-000011112222', message: 'This is a test.' },
});
