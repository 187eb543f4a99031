import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { deleteSubscription, rotateSecret, updateSubscription } from '../../../../src/webhooks/change-subscription.ts';
import { webhookIds } from '../../../../src/webhooks/core/ids.ts';
import { defaultMaxAttempts } from '../../../../src/webhooks/core/retry-schedule.ts';
import {
  createSubscription,
  defaultConcurrency,
  getSubscription,
  listSubscriptions,
  mostSubscriptions,
  type Subscription,
} from '../../../../src/webhooks/subscriptions.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { idempotencyHeader, markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import { pageQuery, paginationOf } from '../../../schemas/pagination.ts';
import {
  createdWebhookSchema,
  newWebhookSchema,
  rotatedSecretSchema,
  type WebhookAnswer,
  webhookChangeSchema,
  webhookInPath,
  webhookListSchema,
  webhookSchema,
} from '../../../schemas/webhooks/webhook.ts';
import {
  createdWebhookExamples,
  newWebhookExamples,
  rotatedSecretExamples,
  webhookChangeExamples,
  webhookExamples,
  webhookListExamples,
} from '../../../schemas/webhooks/webhook-examples.ts';

const tags = ['Webhooks'];
const security = keySecurity('webhooks');
const deletedSchema = z.object({ deleted: z.literal(true) });

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getWebhook', parameters: withThisId },
  Update: { operationId: 'updateWebhook', parameters: withThisId },
  Rotate: { operationId: 'rotateWebhookSecret', parameters: withThisId },
  Test: { operationId: 'testWebhook', parameters: withThisId },
  Deliveries: { operationId: 'listDeliveries', parameters: withThisId },
  Recover: { operationId: 'recoverDeliveries', parameters: withThisId },
  Delete: { operationId: 'deleteWebhook', parameters: withThisId },
};

const toAnswer = ({ id, createdAt, updatedAt, ...subscription }: Subscription): WebhookAnswer => ({
  id: webhookIds.format(id),
  ...subscription,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** Who hears of what. */
export function webhookRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'webhooks');

  const list = createRoute({
    method: 'get',
    path: '/webhooks',
    tags,
    security,
    operationId: 'listWebhooks',
    summary: 'List webhooks, newest first',
    description: 'Without their secrets, which are shown once.',
    middleware: [key] as const,
    request: { query: z.object(pageQuery) },
    responses: { 200: answer('The page.', webhookListSchema, { examples: webhookListExamples }), ...failures() },
  });
  const create = createRoute({
    method: 'post',
    path: '/webhooks',
    tags,
    security,
    operationId: 'createWebhook',
    summary: 'Be told of events at an address of yours',
    description: [
      'The answer has the secret that deliveries are signed with; it is shown once.',
      `409 \`conflict\` when there are ${mostSubscriptions} webhooks already.`,
    ].join(' '),
    middleware: [key, jsonBody()] as const,
    request: {
      headers: idempotencyHeader,
      body: { required: true, content: jsonContent(newWebhookSchema, newWebhookExamples) },
    },
    responses: {
      201: answer('The webhook, with its secret.', createdWebhookSchema, {
        examples: createdWebhookExamples,
        links,
        replayable: true,
      }),
      ...failures(409, 413, 415, 422),
    },
  });
  const get = createRoute({
    method: 'get',
    path: '/webhooks/{id}',
    tags,
    security,
    operationId: 'getWebhook',
    summary: 'Read a webhook',
    description: 'With the headers that were added to it, and without its secret.',
    middleware: [key] as const,
    request: { params: webhookInPath },
    responses: { 200: answer('The webhook.', webhookSchema, { examples: webhookExamples, links }), ...failures(404) },
  });
  const patch = createRoute({
    method: 'patch',
    path: '/webhooks/{id}',
    tags,
    security,
    operationId: 'updateWebhook',
    summary: 'Change a webhook; only what is given changes',
    description: 'The secret is changed by `rotate-secret` alone. Headers are replaced as a whole.',
    middleware: [key, jsonBody()] as const,
    request: {
      params: webhookInPath,
      body: { required: true, content: jsonContent(webhookChangeSchema, webhookChangeExamples) },
    },
    responses: {
      200: answer('The webhook as it is now.', webhookSchema, { examples: webhookExamples, links }),
      ...failures(404, 413, 415),
    },
  });
  const remove = createRoute({
    method: 'delete',
    path: '/webhooks/{id}',
    tags,
    security,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook with its log of deliveries',
    description: 'What has not been delivered by then never will be.',
    middleware: [key] as const,
    request: { params: webhookInPath },
    responses: {
      200: answer('It is gone.', deletedSchema, { examples: { A: { deleted: true }, B: { deleted: true } } }),
      ...failures(404),
    },
  });
  const rotate = createRoute({
    method: 'post',
    path: '/webhooks/{id}/rotate-secret',
    tags,
    security,
    operationId: 'rotateWebhookSecret',
    summary: 'Make a new secret, which is shown once',
    description: 'For 24 hours the one before signs too, so that no receiver has to change at that very moment.',
    middleware: [key, jsonBody({ optional: true })] as const,
    request: { params: webhookInPath, headers: idempotencyHeader },
    responses: {
      200: answer('The secret.', rotatedSecretSchema, { examples: rotatedSecretExamples, replayable: true }),
      ...failures(404, 413, 415, 422),
    },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit = c.get('dialect').defaultLimit, offset = 0 } = c.req.valid('query');
    const page = await listSubscriptions(services, c.get('scope'), { limit, offset });
    return c.json(success({ webhooks: page.items.map(toAnswer), pagination: paginationOf(page) }), 200);
  });
  routes.openapi(create, async (c) => {
    const { isActive = true, maxAttempts = defaultMaxAttempts, headers = {}, ...given } = c.req.valid('json');
    const { rateLimit = null, concurrency = defaultConcurrency, ...required } = given;
    const input = { ...required, isActive, maxAttempts, headers, rateLimit, concurrency };
    const { outcome, replayed } = await createSubscription(services, c.get('scope'), input, readIdempotency(c));
    const { secret, ...subscription } = outcome;
    markReplayed(c, replayed);
    return c.json(success({ ...toAnswer(subscription), secret }), 201);
  });
  routes.openapi(get, async (c) => {
    return c.json(success(toAnswer(await getSubscription(services, c.get('scope'), c.req.valid('param').id))), 200);
  });
  routes.openapi(patch, async (c) => {
    const { id } = c.req.valid('param');
    return c.json(success(toAnswer(await updateSubscription(services, c.get('scope'), id, c.req.valid('json')))), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteSubscription(c.get('scope'), c.req.valid('param').id);
    return c.json(success({ deleted: true as const }), 200);
  });
  routes.openapi(rotate, async (c) => {
    const { id } = c.req.valid('param');
    const { outcome, replayed } = await rotateSecret(services, c.get('scope'), id, readIdempotency(c));
    markReplayed(c, replayed);
    const previousSecretExpiresAt = outcome.previousSecretExpiresAt.toISOString();
    return c.json(success({ ...outcome, id: webhookIds.format(outcome.id), previousSecretExpiresAt }), 200);
  });
  return routes;
}
