import type { RouteConfig } from '@hono/zod-openapi';
import type { EventType } from '../../../src/platform/core/event-type.ts';
import { eventTypes } from '../../../src/services.ts';
import { bodySchemaOf, exampleBodyOf } from '../../../src/webhooks/core/event-body.ts';
import { programmersName } from '../../../src/webhooks/core/event-catalog.ts';
import { freeForm } from '../free-form.ts';

const description = [
  'Return a 2xx status within 30 seconds and process the event afterwards. Any other response is retried with the same',
  'body and the same `webhook-id`; use that id to ignore duplicates. Events can arrive out of order: `createdAt` is the time',
  'of the event.',
].join(' ');

/** A header of every delivery, or of some. */
const header = (name: string, text: string, required = true) => ({
  name,
  in: 'header' as const,
  required,
  description: text,
  schema: { type: 'string' as const },
});

function headersOf(brand: string) {
  const ofA = (name: string) => `X-${brand}-${name}`;
  const previous = (name: string) =>
    header(
      `${name}-Previous`,
      `For 24 hours after a rotation: \`${name}\` computed with the secret before the current one.`,
      false,
    );
  return [
    header('webhook-id', 'Standard Webhooks: the id of the event, `evt_…`.'),
    header(
      'webhook-timestamp',
      'When this attempt was signed, in Unix seconds. Reject timestamps older than five minutes.',
    ),
    header(
      'webhook-signature',
      '`v1,<base64>` of `<id>.<timestamp>.<body>`. After a rotation it contains up to three signatures, separated by spaces.',
    ),
    header(ofA('Signature'), `Family A: \`sha256=<hex>\` of \`<${ofA('Timestamp')}>.<body>\`.`),
    previous(ofA('Signature')),
    header(ofA('Timestamp'), 'When this attempt was signed, in ISO 8601.'),
    header(ofA('Delivery'), 'The id of the delivery, `dlv_…`.'),
    header(ofA('Event'), 'The type of the event.'),
    header(ofA('Idempotency-Key'), 'The id of the event.'),
    header('X-Webhook-Signature', 'Family B: `sha256=<hex>` of the body.'),
    previous('X-Webhook-Signature'),
    header('X-Webhook-Timestamp', 'When this attempt was signed, in Unix seconds.'),
    header('X-Webhook-ID', 'The id of the event.'),
    header(
      'x-correlation-id',
      'The correlation id of the request that caused the event, unless `headers` of the webhook has this header.',
    ),
  ];
}

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** The schemas of the bodies of events, by their names in the document. */
export const eventSchemas = (events: Iterable<EventType>): Record<string, object> =>
  Object.fromEntries([...events].map((event) => [programmersName(event.type), bodySchemaOf(event)]));

const schemaNames = eventTypes.map((type) => [type, reference(programmersName(type)).$ref] as const);

/** The body of an event of any type. */
export const anyEventSchema = freeForm.openapi('WebhookEvent', {
  description: 'The body of an event. Types may be added to it: ignore those that you do not know.',
  oneOf: schemaNames.map(([, $ref]) => ({ $ref })),
  discriminator: { propertyName: 'type', mapping: Object.fromEntries(schemaNames) },
  additionalProperties: undefined as never,
});

/** The request that a delivery of the event makes, for the reference. `brand` is the word in its header names. */
export function eventRequest(event: EventType, brand: string): RouteConfig {
  const { type, deprecated } = event;
  const [sentence] = event.description.split('. ');
  const content = { schema: reference(programmersName(type)), example: exampleBodyOf(event) };
  return {
    method: 'post',
    path: type,
    tags: ['Webhooks'],
    // The request carries no API key: its signatures authenticate it.
    security: [],
    operationId: `on ${type}`.replaceAll(/[ ._](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary: sentence!.replace(/\.$/, ''),
    description,
    ...(deprecated && { deprecated }),
    parameters: headersOf(brand),
    request: { body: { required: true, content: { 'application/json': content } } },
    responses: {
      '2XX': { description: 'The delivery succeeded. The delivery log keeps the first 16 KiB of the response body.' },
    },
  };
}
