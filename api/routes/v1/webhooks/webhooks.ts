import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import { defaultOptions } from '../../../../src/webhooks/core/delivery-options.ts';
import { webhookIds } from '../../../../src/webhooks/core/ids.ts';
import { defaultMaxAttempts } from '../../../../src/webhooks/core/retry-schedule.ts';
import { webhookNotFound } from '../../../../src/webhooks/errors.ts';
import {
  deleteSubscription,
  rotateSecret,
  updateSubscription,
} from '../../../../src/webhooks/subscriptions/change-subscription.ts';
import { getSubscriptionDetail, type WebhookHealth } from '../../../../src/webhooks/subscriptions/health.ts';
import {
  type CreatedSubscription,
  createSubscription,
  defaultConcurrency,
  listSubscriptions,
  type Subscription,
} from '../../../../src/webhooks/subscriptions/subscriptions.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { fitAnswer, referred } from '../../../fit-answer.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey, requireKeyAndId } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { listOf, pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';
import {
  changedWebhookSchema,
  createdWebhookSchema,
  newWebhookSchema,
  rotatedSecretSchema,
  type WebhookAnswer,
  webhookChangeSchema,
  webhookDetailSchema,
  webhookInPath,
  webhookListSchema,
} from '../../../schemas/webhooks/webhook.ts';
import {
  createdWebhookExamples,
  newWebhookExamples,
  rotatedSecretExamples,
  webhookChangeExamples,
  webhookDetailExamples,
  webhookExamples,
  webhookListExamples,
} from '../../../schemas/webhooks/webhook-examples.ts';

const withThisId = { id: '$response.body#/data/id' };
const links = {
  Get: { operationId: 'getWebhook', parameters: withThisId },
  Update: { operationId: 'updateWebhook', parameters: withThisId },
  Rotate: { operationId: 'rotateWebhookSecret', parameters: withThisId },
  Test: { operationId: 'testWebhook', parameters: withThisId },
  Example: { operationId: 'sendWebhookExample', parameters: withThisId },
  Deliveries: { operationId: 'listDeliveries', parameters: withThisId },
  Statistics: { operationId: 'getWebhookStats', parameters: withThisId },
  Recover: { operationId: 'recoverDeliveries', parameters: withThisId },
  Delete: { operationId: 'deleteWebhook', parameters: withThisId },
};

const toAnswer = ({ id, createdAt, updatedAt, ...subscription }: Subscription): WebhookAnswer => ({
  id: webhookIds.format(id),
  ...subscription,
  createdAt: createdAt.toISOString(),
  updatedAt: updatedAt.toISOString(),
});

/** Custom headers, which a reference to their webhook can replace. It is a map of texts too, as clients expect. */
const headersOf = (webhook: WebhookAnswer) =>
  referred(webhook, 'headers', () => ({ $ref: `/api/v1/webhooks/${webhook.id}` }));

/** With a new secret, where there is one. */
const toKeyedAnswer = ({ secret, ...subscription }: CreatedSubscription) => ({
  ...toAnswer(subscription),
  ...(secret !== undefined && { secret }),
});

const healthOf = ({ failingSince, nextProbeAt, ...health }: WebhookHealth) => ({
  ...health,
  failingSince: failingSince?.toISOString() ?? null,
  nextProbeAt: nextProbeAt?.toISOString() ?? null,
});

export function webhookRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'webhooks');
  const keyAndId = requireKeyAndId(services, { ...webhookIds, notFound: webhookNotFound }, 'webhooks');

  const operation = operationsOf({ tag: 'Webhooks', key });

  const list = operation({
    method: 'get',
    path: '/webhooks',
    operationId: 'listWebhooks',
    'x-client-method': 'webhooks.list',
    summary: 'List webhooks',
    description: [
      'Newest first, without their secrets. Where the answer would have more than 2 MiB, the largest `headers` are',
      '`{"$ref"}`: the path of their webhook, whose answer has them.',
    ].join(' '),
    query: z.object(pageQuery),
    answers: { 200: answer('A page of webhooks.', webhookListSchema, { examples: webhookListExamples }) },
  });
  const create = operation({
    method: 'post',
    path: '/webhooks',
    operationId: 'createWebhook',
    'x-client-method': 'webhooks.create',
    summary: 'Create a webhook',
    description: [
      'Sends events to a URL of yours. Deliveries are signed with the returned secret, which is shown once, or with a private',
      'key whose `publicKey` every answer has.',
      'The plan says how many webhooks there can be, those of scheduling and of integrations included; one more is answered',
      'with 403 `forbidden`.',
    ].join(' '),
    body: jsonContent(newWebhookSchema, newWebhookExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the webhook with its secret or its public key.', createdWebhookSchema, {
        examples: createdWebhookExamples,
        links,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const get = operation({
    method: 'get',
    path: '/webhooks/{id}',
    operationId: 'getWebhook',
    'x-client-method': 'webhooks.get',
    summary: 'Retrieve a webhook',
    description: 'Returns the webhook with its custom headers and its health, without its secret.',
    key: keyAndId,
    params: webhookInPath,
    answers: { 200: answer('Returns the webhook.', webhookDetailSchema, { examples: webhookDetailExamples, links }) },
  });
  const patch = operation({
    method: 'patch',
    path: '/webhooks/{id}',
    operationId: 'updateWebhook',
    'x-client-method': 'webhooks.update',
    summary: 'Update a webhook',
    description: [
      'Only the given fields change. `headers` is replaced as a whole. To change the secret, use `rotate-secret`. A change of `signature` creates new keys at once, and earlier keys no longer sign.',
      'The fields `filter`, `payload`, `signature` and `ordering` of a webhook of an integration cannot be changed.',
    ].join(' '),
    params: webhookInPath,
    body: jsonContent(webhookChangeSchema, webhookChangeExamples),
    answers: {
      200: answer('Returns the updated webhook.', changedWebhookSchema, { examples: webhookExamples, links }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/webhooks/{id}',
    operationId: 'deleteWebhook',
    'x-client-method': 'webhooks.delete',
    summary: 'Delete a webhook',
    description: 'Deletes the webhook and its delivery log. Pending deliveries are discarded.',
    params: webhookInPath,
    answers: { 200: deletedAnswer('The webhook was deleted.') },
  });
  const rotate = operation({
    method: 'post',
    path: '/webhooks/{id}/rotate-secret',
    operationId: 'rotateWebhookSecret',
    'x-client-method': 'webhooks.rotateSecret',
    summary: 'Rotate the signing secret of a webhook',
    description: [
      'Returns a new secret, which is shown once. For 24 hours deliveries are signed with the previous secret too, even if',
      'the secret is rotated again meanwhile; at most the three newest secrets sign.',
      'With `signature: ed25519` the private key is replaced, and `publicKey` is returned.',
    ].join(' '),
    params: webhookInPath,
    bodyIsOptional: true,
    idempotent: true,
    answers: {
      200: answer('Returns the new secret or public key.', rotatedSecretSchema, {
        examples: rotatedSecretExamples,
        replayable: true,
      }),
    },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { limit, offset } = withPageDefaults(c, c.req.valid('query'));
    const page = await listSubscriptions(services, c.get('scope'), { limit, offset });
    const answered = listOf('webhooks', page, toAnswer);
    return c.json(success(fitAnswer(answered, () => answered.webhooks.flatMap(headersOf))), 200);
  });
  routes.openapi(create, async (c) => {
    const { isActive = true, maxAttempts = defaultMaxAttempts, headers = {}, ...given } = c.req.valid('json');
    const { rateLimit = null, concurrency = defaultConcurrency, ...rest } = given;
    const { filter = defaultOptions.filter, payload = defaultOptions.payload, ...others } = rest;
    const { signature = defaultOptions.signature, ordering = defaultOptions.ordering, ...required } = others;
    const options = { filter, payload, signature, ordering };
    const input = { ...options, ...required, isActive, maxAttempts, headers, rateLimit, concurrency };
    const { outcome, replayed } = await createSubscription(services, c.get('scope'), input, readIdempotency(c));
    markReplayed(c, replayed);
    return c.json(success(toKeyedAnswer(outcome)), 201);
  });
  routes.openapi(get, async (c) => {
    const { health, ...subscription } = await getSubscriptionDetail(services, c.get('scope'), c.req.valid('param').id);
    return c.json(success({ ...toAnswer(subscription), health: healthOf(health) }), 200);
  });
  routes.openapi(patch, async (c) => {
    const { id } = c.req.valid('param');
    const updated = await updateSubscription(services, c.get('scope'), id, c.req.valid('json'));
    return c.json(success(toKeyedAnswer(updated)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteSubscription(services, c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
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
