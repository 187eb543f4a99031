import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { defaultOptions } from '../../../../src/webhooks/core/delivery-options.ts';
import { webhookIds } from '../../../../src/webhooks/core/ids.ts';
import { defaultMaxAttempts } from '../../../../src/webhooks/core/retry-schedule.ts';
import { createSubscription, defaultConcurrency } from '../../../../src/webhooks/subscriptions/subscriptions.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import {
  bookingWebhookExamples,
  bookingWebhookSchema,
  newBookingWebhookExamples,
  newBookingWebhookSchema,
} from '../../../schemas/scheduling/webhook.ts';

const usual = {
  name: 'Scheduling',
  isActive: true,
  maxAttempts: defaultMaxAttempts,
  headers: {},
  rateLimit: null,
  concurrency: defaultConcurrency,
};

export function bookingWebhookRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Scheduling', key: requireKey(services, 'scheduling') });

  const create = operation({
    method: 'post',
    path: '/webhooks',
    operationId: 'createBookingWebhook',
    'x-client-method': 'scheduling.webhooks.create',
    summary: 'Create a webhook for bookings',
    description: [
      'Sends events of bookings to a URL of yours. It is a webhook like any other: it is listed, changed and deleted below',
      '`/webhooks`, and counts toward the webhooks that the plan includes; one more is answered with 403 `forbidden`.',
    ].join(' '),
    body: jsonContent(newBookingWebhookSchema, newBookingWebhookExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the webhook with its secret.', bookingWebhookSchema, {
        examples: bookingWebhookExamples,
        links: { Get: { operationId: 'getWebhook', parameters: { id: '$response.body#/data/id' } } },
        replayable: true,
      }),
    },
    failures: [409],
  });

  const routes = newRoutes();
  routes.openapi(create, async (c) => {
    const input = { ...usual, ...defaultOptions, ...c.req.valid('json') };
    const { outcome, replayed } = await createSubscription(services, c.get('scope'), input, readIdempotency(c));
    const { id, name, url, events, secret, isActive, createdAt } = outcome;
    markReplayed(c, replayed);
    const shown = { id: webhookIds.format(id), name, url, events, secret: secret!, isActive };
    return c.json(success({ ...shown, createdAt: createdAt.toISOString() }), 201);
  });
  return routes;
}
