import { defineEvent } from '../../platform/core/event-type.ts';
import { webhookIds } from './ids.ts';

/** In a subscription's `events`: all types, future ones included. */
export const everyEvent = '*';

/** Sent by the test operation of a webhook, to that webhook alone. */
export const testWebhook = defineEvent(
  'test.webhook',
  ({ webhookId, message }: { webhookId: string; message: string }) => ({
    webhookId: webhookIds.format(webhookId),
    message,
  }),
);
