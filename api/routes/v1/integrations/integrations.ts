import type { OpenAPIHono } from '@hono/zod-openapi';
import { disconnect } from '../../../../src/integrations/connections/disconnect.ts';
import { testConnection } from '../../../../src/integrations/connections/test-connection.ts';
import { type IntegrationView, listIntegrations } from '../../../../src/integrations/list-integrations.ts';
import { withoutSlash } from '../../../../src/platform/core/base-url.ts';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer } from '../../../schemas/answers.ts';
import { integrationFailures } from '../../../schemas/integrations/failures.ts';
import {
  disconnectedExamples,
  disconnectedSchema,
  integrationInPath,
  integrationListExamples,
  integrationListSchema,
  testedExamples,
  testedSchema,
} from '../../../schemas/integrations/integration.ts';

const toAnswer = ({ connectedAt, ...integration }: IntegrationView) => ({
  ...integration,
  ...(connectedAt && { connectedAt: connectedAt.toISOString() }),
});

const integrationId = '$response.body#/data/integrations/0/id';
const links = {
  Connect: { operationId: 'connectIntegration', parameters: { integrationId } },
  Test: { operationId: 'testIntegration', parameters: { integrationId } },
  CreateWebhook: {
    operationId: 'createIntegrationWebhook',
    parameters: { integrationId },
  },
  Webhooks: { operationId: 'listIntegrationWebhooks', parameters: { integrationId } },
  Trigger: {
    operationId: 'triggerIntegrationEvent',
    parameters: { integrationId, event: '$response.body#/data/integrations/0/features/triggers/0' },
  },
  Disconnect: { operationId: 'disconnectIntegration', parameters: { integrationId } },
};

export function integrationRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const key = requireKey(services, 'integrations');

  const operation = operationsOf({ tag: 'Integrations', key });

  const list = operation({
    method: 'get',
    path: '/',
    operationId: 'listIntegrations',
    'x-client-method': 'integrations.list',
    summary: 'List integrations',
    description: 'Every integration, connected or not.',
    answers: {
      200: answer('Returns the integrations.', integrationListSchema, { examples: integrationListExamples, links }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/{integrationId}/connection',
    operationId: 'disconnectIntegration',
    'x-client-method': 'integrations.connection.delete',
    summary: 'Disconnect an integration',
    description:
      'Ends the access to the account. Webhooks of the integration stay, but receive nothing until it is connected again. An integration that is not connected is answered with 409 `not_connected`.',
    params: integrationInPath,
    answers: {
      200: answer('The integration was disconnected.', disconnectedSchema, { examples: disconnectedExamples }),
    },
    failures: [409],
  });
  const test = operation({
    method: 'post',
    path: '/{integrationId}/test',
    operationId: 'testIntegration',
    'x-client-method': 'integrations.test',
    summary: 'Test an integration',
    description:
      'Verifies the connection with a request to the provider. An integration that is not connected is answered with 409 `not_connected`. If the request fails, `success` is false and `details` says why.',
    params: integrationInPath,
    answers: {
      200: answer('Returns the outcome of the request and its latency.', testedSchema, { examples: testedExamples }),
      ...integrationFailures,
    },
    failures: [409],
  });

  const routes = newRoutes();
  const publicUrl = withoutSlash(services.env.PUBLIC_URL);
  routes.openapi(list, async (c) => {
    const integrations = await listIntegrations({ sealer: services.sealer, publicUrl }, c.get('scope'));
    return c.json(success({ integrations: integrations.map(toAnswer) }), 200);
  });
  routes.openapi(remove, async (c) => {
    const message = await disconnect(services, c.get('scope'), c.req.valid('param').integrationId);
    return c.json(success({ success: true as const, message }), 200);
  });
  routes.openapi(test, async (c) => {
    return c.json(success(await testConnection(services, c.get('scope'), c.req.valid('param').integrationId)), 200);
  });
  return routes;
}
