import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { publishedEntry } from '../../../../src/webhooks/core/event-catalog.ts';
import { eventTypeNotFound } from '../../../../src/webhooks/errors.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import {
  describedEventExamples,
  describedEventSchema,
  eventCatalogExamples,
  eventCatalogSchema,
  eventInPath,
} from '../../../schemas/webhooks/event-catalog.ts';

/** The published information about the product's events. */
export function eventCatalogRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Webhooks', key: requireKey(services, 'webhooks') });
  const entries = new Map([...services.events].map(([type, declared]) => [type, publishedEntry(declared)]));

  const list = operation({
    method: 'get',
    path: '/webhook-events',
    operationId: 'listWebhookEvents',
    'x-client-method': 'webhookEvents.list',
    summary: 'List event types',
    description:
      'All types of events, each with the JSON Schema of its body and an example. Webhooks subscribe to them, and triggers and `event` steps of workflows name them.',
    answers: {
      200: answer('Returns the types, in no particular order.', eventCatalogSchema, {
        examples: eventCatalogExamples,
        links: {
          First: { operationId: 'getWebhookEvent', parameters: { type: '$response.body#/data/events/0/type' } },
        },
      }),
    },
  });
  const get = operation({
    method: 'get',
    path: '/webhook-events/{type}',
    operationId: 'getWebhookEvent',
    'x-client-method': 'webhookEvents.get',
    summary: 'Retrieve an event type',
    description: 'Returns the JSON Schema of the body and an example.',
    params: eventInPath,
    answers: { 200: answer('Returns the type.', describedEventSchema, { examples: describedEventExamples }) },
  });

  const routes = newRoutes();
  routes.openapi(list, (c) => c.json(success({ events: [...entries.values()] }), 200));
  routes.openapi(get, (c) => {
    const { type } = c.req.valid('param');
    const entry = entries.get(type);
    if (!entry) throw eventTypeNotFound(type);
    return c.json(success(entry), 200);
  });
  return routes;
}
