import type { OpenAPIHono } from '@hono/zod-openapi';
import { beginConnect, finishConnect, integrationPurpose } from '../../../../src/integrations/connections/connect.ts';
import { invalid } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { LimitLookUp } from '../../../../src/tenancy/failed-authentications.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import { consentSchema } from '../../../schemas/connections.ts';
import { callbackOperation, sandboxConsentOperation } from '../../../schemas/inbound.ts';
import {
  integrationConsentExamples,
  newIntegrationConsentExamples,
  newIntegrationConsentSchema,
} from '../../../schemas/integrations/consent.ts';
import { integrationInPath } from '../../../schemas/integrations/integration.ts';
import { answerConsent, type ConsentOutcome, type ConsentWords } from '../../connections/consent-answer.ts';
import { sendOn } from '../../connections/sandbox-consents.ts';

const words: ConsentWords = {
  connected: 'Integration connected',
  notConnected: 'Integration not connected',
  reasons: {
    access_denied: 'Access to the account was refused.',
    exchange_failed: 'The provider did not complete the connection. Try again.',
    server_not_reached: 'The server that the provider named for the account cannot be reached from here.',
  },
  otherReason: 'The integration could not be connected. Begin again.',
};

async function finish(services: Services, query: URLSearchParams, limit: LimitLookUp): Promise<ConsentOutcome> {
  const { redirectUrl, integrationId: integration, error, reason } = await finishConnect(services, query, limit);
  return { redirectUrl, error, reason, facts: { integration, ...(reason !== undefined && { reason }) } };
}

/** The answer of the sandbox's tester. @throws AppError validation_error with path redirect_uri or state */
async function answerOfTester(c: ApiContext, { connections }: Services): Promise<string> {
  const { state = '', redirect_uri: redirectUri, integration, deny } = c.req.query();
  if (redirectUri !== connections.callbackUrl(integrationPurpose)) {
    throw invalid([{ path: 'redirect_uri', message: 'Expected the address that the question names.' }]);
  }
  const expected = { purpose: integrationPurpose, provider: integration ?? '', denies: deny === 'true' };
  return connections.answerInSandbox(state, expected);
}

export function integrationConsentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Integrations', key: requireKey(services, 'integrations') });

  const connect = operation({
    method: 'post',
    path: '/{integrationId}/connect',
    operationId: 'connectIntegration',
    'x-client-method': 'integrations.connect',
    summary: 'Connect an integration',
    description:
      'Send the owner of the account to `authUrl`. The integration is connected when the owner grants access; an earlier connection stays until then. Several requests may be open at the same time. In the sandbox `authUrl` grants access at once, and with `&deny=true` it refuses. With a live key, an integration that this installation has not configured is answered with 503 `provider_not_configured`.',
    params: integrationInPath,
    body: jsonContent(newIntegrationConsentSchema, newIntegrationConsentExamples),
    bodyIsOptional: true,
    answers: {
      200: answer('Returns where to send the owner of the account.', consentSchema, {
        examples: integrationConsentExamples,
      }),
    },
  });

  const routes = newRoutes();
  routes.openapi(connect, async (c) => {
    const { integrationId } = c.req.valid('param');
    const { redirectUrl, scopes } = c.req.valid('json') ?? {};
    return c.json(success(await beginConnect(services, c.get('scope'), { integrationId, redirectUrl, scopes })), 200);
  });
  routes.openAPIRegistry.registerPath(callbackOperation('/callback', 'completeIntegrationConsent', 'an integration'));
  routes.openAPIRegistry.registerPath(
    sandboxConsentOperation('/sandbox/authorize', 'authorizeSandboxIntegration', 'an integration'),
  );
  routes.get('/callback', (c) =>
    answerConsent(c, services, { words, finish: (query, limit) => finish(services, query, limit) }),
  );
  routes.get('/sandbox/authorize', (c) => sendOn(c, services, () => answerOfTester(c, services)));
  return routes;
}
