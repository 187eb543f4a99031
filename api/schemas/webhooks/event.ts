import { type RouteConfig, z } from '@hono/zod-openapi';
import type { EventType } from '../../../src/platform/core/event-type.ts';
import { testWebhook } from '../../../src/webhooks/core/events.ts';
import { payloadOf } from '../../../src/webhooks/deliveries/payload.ts';
import { webhookId } from './webhook.ts';

/** How the reference describes an event type. Each feature documents its own. */
export interface DocumentedEvent {
  event: EventType;
  /** When it is sent. */
  summary: string;
  /** The schema of the member `data`. */
  data: z.ZodType;
  /** Stored facts, which the example is rendered from. */
  facts: object;
}

/** @param facts of the example */
export const documentEvent = <Facts extends object>(
  event: EventType<Facts>,
  summary: string,
  data: z.ZodType,
  facts: Facts,
): DocumentedEvent => ({ event, summary, data, facts });

export const webhookEvents = [
  documentEvent(testWebhook, 'A test was requested', z.object({ webhookId: z.string(), message: z.string() }), {
    webhookId: webhookId.slice('whk_'.length),
    message: 'This is a test.',
  }),
];

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
      'That of the request that caused the event, unless `headers` of the webhook has its own.',
    ),
  ];
}

/** The request that a delivery of the event makes, for the reference. `brand` is the word in its header names. */
export function eventRequest({ event, summary, data, facts }: DocumentedEvent, brand: string): RouteConfig {
  const { type } = event;
  const schema = z.object({
    id: z.string().openapi({ description: '`evt_…`, the same on every attempt and replay.' }),
    type: z.literal(type),
    ...(event.repeatsType && { event: z.literal(type).openapi({ description: 'The same word as `type`.' }) }),
    createdAt: z.iso.datetime().openapi({ description: 'When the event happened.' }),
    data,
  });
  const id = '0199eeee-ffff-7000-8111-22223333bbbb';
  const createdAt = new Date('2026-11-21T09:30:00.000Z');
  const example = payloadOf(new Map([[type, event]]), { id, type, facts, createdAt });
  return {
    method: 'post',
    path: type,
    tags: ['Webhooks'],
    // The request carries no API key: its signatures authenticate it.
    security: [],
    operationId: `on ${type}`.replaceAll(/[ ._](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary,
    description,
    parameters: headersOf(brand),
    request: { body: { required: true, content: { 'application/json': { schema, example: JSON.parse(example) } } } },
    responses: {
      '2XX': { description: 'The delivery succeeded. The delivery log keeps the first 16 KiB of the response body.' },
    },
  };
}
