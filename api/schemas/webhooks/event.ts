import { type RouteConfig, z } from '@hono/zod-openapi';
import type { RunFacts } from '../../../src/automation/core/events.ts';
import { catalog, eventTypes } from '../../../src/services.ts';
import { payloadOf } from '../../../src/webhooks/payload.ts';
import { webhookId } from './webhook.ts';

const uuid = (description: string) => z.uuid().openapi({ description });

/** Of a run: ids and statuses as dialect A writes them, whichever dialect the keys of the tenant speak. */
const runData = (status: string) =>
  z.object({
    id: uuid('The run; `GET /v1/runs/{id}` has its output, or its failure.'),
    workflowId: z.uuid(),
    workflowName: z.string(),
    status: z.literal(status),
    durationMs: z.int(),
    tokensUsed: z.int(),
  });

const dataOf: Record<string, z.ZodType> = {
  'workflow.run.started': runData('RUNNING'),
  'workflow.run.completed': runData('COMPLETED'),
  'workflow.run.failed': runData('FAILED'),
  'workflow.run.cancelled': runData('CANCELLED'),
  'api_key.expiring': z.object({
    id: z.string().openapi({ description: 'The key, as `key_…`.' }),
    name: z.string(),
    lastFour: z.string().openapi({ description: 'The end of the key itself.' }),
    expiresAt: z.iso.datetime(),
  }),
  'test.webhook': z.object({ webhookId: z.string(), message: z.string() }),
};

const run = (status: string, done: Pick<RunFacts, 'durationMs' | 'tokensUsed'>): RunFacts => ({
  runId: '0199bbbb-cccc-7ddd-8eee-ffff00001111',
  automationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000',
  name: 'Summarize',
  status,
  ...done,
});
const done = { durationMs: 1_840, tokensUsed: 41 };
const factsOf: Record<string, object> = {
  'workflow.run.started': run('running', { durationMs: 0, tokensUsed: 0 }),
  'workflow.run.completed': run('completed', done),
  'workflow.run.failed': run('failed', done),
  'workflow.run.cancelled': run('cancelled', done),
  'api_key.expiring': {
    keyId: '0199dddd-eeee-7fff-8000-111122223333',
    ...{ name: 'Orders', lastFour: 'x7Qa', expiresAt: '2026-11-28T09:30:00.000Z' },
  },
  'test.webhook': { webhookId: webhookId.slice('whk_'.length), message: 'This is a test.' },
};

const happened: Record<string, string> = {
  'workflow.run.started': 'A run has begun',
  'workflow.run.completed': 'A run is over and has its output',
  'workflow.run.failed': 'A run is over and has failed',
  'workflow.run.cancelled': 'A run was stopped',
  'api_key.expiring': 'A key will soon expire',
  'test.webhook': 'A test was asked for',
};

const description = [
  'Answer with a 2xx within 30 seconds, and do the work afterwards. Anything else is tried again, with the same bytes and',
  'the same `webhook-id`: what comes twice is known by that. Events may arrive in another order than they happened;',
  '`createdAt` says when they did.',
].join(' ');

/** A header of every delivery. */
const header = (name: string, said: string) => ({
  ...{ name, in: 'header' as const, required: true, description: said },
  schema: { type: 'string' as const },
});

function headersOf(brand: string) {
  const ofA = (name: string) => `X-${brand}-${name}`;
  return [
    header('webhook-id', 'Standard Webhooks: the id of the event, `evt_…`.'),
    header(
      'webhook-timestamp',
      'When this attempt was signed, in Unix seconds. Refuse what is older than five minutes.',
    ),
    header(
      'webhook-signature',
      '`v1,<base64>` of `<id>.<timestamp>.<body>`; two of them, with a space, after a rotation.',
    ),
    header(ofA('Signature'), `Family A: \`sha256=<hex>\` of \`<${ofA('Timestamp')}>.<body>\`.`),
    header(ofA('Timestamp'), 'The same moment as a time of ISO 8601.'),
    header(ofA('Delivery'), 'The id of the delivery, `dlv_…`.'),
    header(ofA('Event'), 'The type of the event.'),
    header(ofA('Idempotency-Key'), 'The id of the event.'),
    header('X-Webhook-Signature', 'Family B: `sha256=<hex>` of the body.'),
    header('X-Webhook-Timestamp', 'The same moment in Unix seconds.'),
    header('X-Webhook-ID', 'The id of the event.'),
  ];
}

function eventRequest(type: string, brand: string): RouteConfig {
  const schema = z.object({
    id: z.string().openapi({ description: '`evt_…`, the same on every attempt and replay.' }),
    type: z.literal(type),
    createdAt: z.iso.datetime().openapi({ description: 'When it happened.' }),
    data: dataOf[type]!,
  });
  const id = '0199eeee-ffff-7000-8111-22223333bbbb';
  const example = payloadOf(catalog.events, {
    id,
    type,
    facts: factsOf[type],
    createdAt: new Date('2026-11-21T09:30:00.000Z'),
  });
  return {
    method: 'post',
    path: type,
    tags: ['Webhooks'],
    // Nobody's key comes with it: its signatures say whose it is.
    security: [],
    operationId: `on ${type}`.replaceAll(/[ ._](\w)/g, (_, letter: string) => letter.toUpperCase()),
    summary: happened[type]!,
    description,
    parameters: headersOf(brand),
    request: { body: { required: true, content: { 'application/json': { schema, example: JSON.parse(example) } } } },
    responses: { '2XX': { description: 'It has arrived. The body is kept in the log, its first 16 KiB.' } },
  };
}

/** What the product asks of those who subscribe: a request for each type of event. */
export const eventRequests = (brand: string): RouteConfig[] => eventTypes.map((type) => eventRequest(type, brand));
