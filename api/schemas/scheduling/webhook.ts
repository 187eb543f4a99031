import { z } from '@hono/zod-openapi';
import { bookingEvents } from '../../../src/scheduling/core/events.ts';
import { createdWebhookSchema, webhookId } from '../webhooks/webhook.ts';
import { alike, exampleTime } from './values.ts';

const types = bookingEvents.map(({ type }) => type);

export const newBookingWebhookSchema = z
  .object({
    events: z
      // Plain texts in the document, as in those of `POST /webhooks`.
      .array(z.enum(types).openapi({ type: 'string', enum: undefined as never, description: 'An event type.' }))
      .min(1, 'Expected at least one event type.')
      .max(types.length, `Expected at most ${types.length} event types.`)
      .superRefine((given, context) => {
        for (const [index, type] of given.entries()) {
          if (given.indexOf(type) < index)
            context.addIssue({ code: 'custom', path: [index], message: 'Listed twice.' });
        }
      })
      .openapi({ uniqueItems: true, description: `Event types: ${types.join(', ')}.` }),
    url: createdWebhookSchema.shape.url
      .max(2_048, 'Expected at most 2048 characters.')
      .openapi({ format: 'uri', pattern: '^https?://\\S+$', description: 'As for every webhook: a public address.' }),
  })
  .openapi('NewBookingWebhook');

const { id, name, url, events, secret, isActive, createdAt } = createdWebhookSchema.shape;
export const bookingWebhookSchema = z
  .object({ id, name, url, events, secret, isActive, createdAt })
  .openapi('BookingWebhook');

const given = {
  events: ['booking.created' as const, 'booking.cancelled' as const],
  url: 'https://hooks.example.com/bookings',
};
export const newBookingWebhookExamples = alike(given);
export const bookingWebhookExamples = alike({
  id: webhookId,
  name: 'Scheduling',
  ...given,
  secret: `whsec_${'k3XFdN0uUl1pGkLPYJ7n'.repeat(2)}Zq8=`,
  isActive: true,
  createdAt: exampleTime,
});
