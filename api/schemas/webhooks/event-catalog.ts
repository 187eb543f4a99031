import { z } from '@hono/zod-openapi';
import { eventTypes } from '../../../src/services.ts';
import { publishedEntry } from '../../../src/webhooks/core/event-catalog.ts';
import { testWebhook } from '../../../src/webhooks/core/events.ts';
import { freeForm } from '../free-form.ts';
import { anyEventSchema } from './event.ts';

const described = z
  .object({
    type: z.string(),
    description: z.string().openapi({ description: 'When the event is sent.' }),
    schema: freeForm.openapi({
      description: 'The JSON Schema of the body, draft 2020-12. Members may be added to it.',
    }),
    example: anyEventSchema,
    since: z.iso.date().openapi({ description: 'The day from which on events of this type are sent.' }),
    deprecated: z.boolean().openapi({ description: 'Whether a newer type replaces it. It is still sent.' }),
  })
  .openapi('WebhookEventDescription');

export const describedEventSchema = described;
export const eventCatalogSchema = z.object({ events: z.array(described) });

export const eventInPath = z.object({
  type: z.string().openapi({ param: { name: 'type', in: 'path', example: testWebhook.type } }),
});

export const sentExampleSchema = z
  .object({
    type: z.enum(eventTypes, `Expected one of ${eventTypes.join(', ')}.`).openapi({
      type: 'string',
      enum: undefined as never,
      description: 'Any event type, even if the webhook does not subscribe to it.',
    }),
  })
  .openapi('WebhookExample');

const entry = publishedEntry(testWebhook);
const both = <Value>(value: Value) => ({ A: value, B: value });
export const describedEventExamples = both(entry);
export const eventCatalogExamples = both({ events: [entry] });
export const sentExampleExamples = both({ type: testWebhook.type });
