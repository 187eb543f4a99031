import type { OpenAPIHono } from '@hono/zod-openapi';
import {
  createIntegrationWebhook,
  deleteIntegrationWebhook,
  type IntegrationWebhook,
  listIntegrationWebhooks,
} from '../../../../src/integrations/webhooks.ts';
import type { Services } from '../../../../src/services.ts';
import { webhookIds } from '../../../../src/webhooks/core/ids.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { integrationWebhookInPath } from '../../../schemas/integrations/in-path.ts';
import { integrationInPath } from '../../../schemas/integrations/integration.ts';
import {
  createdIntegrationWebhookExamples,
  createdIntegrationWebhookSchema,
  type IntegrationWebhookAnswer,
  integrationWebhookListExamples,
  integrationWebhookListSchema,
  newIntegrationWebhookExamples,
  newIntegrationWebhookSchema,
} from '../../../schemas/integrations/webhooks.ts';
import { requireIntegration } from './require-integration.ts';

const toAnswer = ({ id, event, url, isActive, createdAt }: IntegrationWebhook): IntegrationWebhookAnswer => ({
  id: webhookIds.format(id),
  event,
  url,
  active: isActive,
  createdAt: createdAt.toISOString(),
});

const withThisId = { parameters: { id: '$response.body#/data/id' } };
const links = {
  Delete: {
    operationId: 'deleteIntegrationWebhook',
    parameters: { integrationId: '$request.path.integrationId', webhookId: '$response.body#/data/id' },
  },
  Update: { operationId: 'updateWebhook', ...withThisId },
  Rotate: { operationId: 'rotateWebhookSecret', ...withThisId },
  Test: { operationId: 'testWebhook', ...withThisId },
  Deliveries: { operationId: 'listDeliveries', ...withThisId },
  Recover: { operationId: 'recoverDeliveries', ...withThisId },
};

const beside = [
  'The operations below `/webhooks/{id}` change and test it, rotate its secret, and show and replay its deliveries. The list of webhooks omits it.',
].join(' ');

/** Webhooks that get one event of an integration each. */
export function integrationWebhookRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'integrations');

  const operation = operationsOf({ tag: 'Integrations', key });

  const list = operation({
    method: 'get',
    path: '/{integrationId}/webhooks',
    operationId: 'listIntegrationWebhooks',
    'x-client-method': 'integrations.webhooks.list',
    summary: 'List the webhooks of an integration',
    description: 'All webhooks of the integration, newest first, without their secrets.',
    params: integrationInPath,
    answers: {
      200: answer('The webhooks.', integrationWebhookListSchema, { examples: integrationWebhookListExamples }),
    },
  });
  const create = operation({
    method: 'post',
    path: '/{integrationId}/webhooks',
    operationId: 'createIntegrationWebhook',
    'x-client-method': 'integrations.webhooks.create',
    summary: 'Create a webhook for an event of an integration',
    description: [
      'Sends an event of the integration to your URL while the integration is connected. The body of a delivery is',
      '`{id, type, timestamp, integration, data, signature}`: `signature` is `sha256=` and the HMAC-SHA256 in hexadecimal of',
      'the same JSON without that member, with the whole secret as key. The headers are those of every webhook.',
      `${beside} It counts toward the webhooks that the plan includes; one more is answered with 403 \`forbidden\`.`,
    ].join(' '),
    params: integrationInPath,
    body: jsonContent(newIntegrationWebhookSchema, newIntegrationWebhookExamples),
    idempotent: true,
    answers: {
      201: answer('Returns the webhook with its secret.', createdIntegrationWebhookSchema, {
        examples: createdIntegrationWebhookExamples,
        links,
        replayable: true,
      }),
    },
    failures: [409],
  });
  const remove = operation({
    method: 'delete',
    path: '/{integrationId}/webhooks/{webhookId}',
    operationId: 'deleteIntegrationWebhook',
    'x-client-method': 'integrations.webhooks.delete',
    summary: 'Delete a webhook of an integration',
    description: 'Deletes the webhook and its delivery log. Pending deliveries are discarded.',
    params: integrationWebhookInPath,
    answers: { 200: deletedAnswer('The webhook was deleted.') },
  });

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const integration = requireIntegration(c.req.valid('param').integrationId);
    const webhooks = await listIntegrationWebhooks(c.get('scope'), integration);
    return c.json(success({ webhooks: webhooks.map(toAnswer) }), 200);
  });
  routes.openapi(create, async (c) => {
    const integration = requireIntegration(c.req.valid('param').integrationId);
    const [given, claim] = [c.req.valid('json'), readIdempotency(c)];
    const made = await createIntegrationWebhook(services, c.get('scope'), integration, given, claim);
    const { secret, ...webhook } = made.outcome;
    markReplayed(c, made.replayed);
    return c.json(success({ ...toAnswer(webhook), secret }), 201);
  });
  routes.openapi(remove, async (c) => {
    const { integrationId, webhookId: id } = c.req.valid('param');
    await deleteIntegrationWebhook(services, c.get('scope'), requireIntegration(integrationId), id);
    return c.json(deleted, 200);
  });
  return routes;
}
