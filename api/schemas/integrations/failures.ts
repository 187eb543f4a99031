import { actionFailed, authExpired, providerRateLimited } from '../../../src/integrations/errors.ts';
import { surfaces } from '../failures.ts';
import { behindKey } from '../headers.ts';

/** The 401 and 429 of an operation that asks the provider of an integration. */
export const integrationFailures = {
  401: surfaces.versioned.response({
    name: 'IntegrationUnauthorizedError',
    description:
      'The credentials are missing, invalid, expired or revoked. Or `auth_expired`: the provider no longer accepts our access, and the integration must be connected again; without `WWW-Authenticate`.',
    example: authExpired('slack'),
    sometimes: ['WWW-Authenticate', ...behindKey],
    isOftenAccess: true,
  }),
  429: surfaces.versioned.response({
    name: 'IntegrationRateLimitError',
    description:
      "A limit of the organization's plan is reached, or too many authentications from the caller's address have failed. Or `rate_limited`: the provider asks to wait.",
    example: providerRateLimited('slack', 30),
    always: ['Retry-After'],
    sometimes: behindKey,
    isOftenAccess: true,
  }),
};

/** The 502 of an action of an integration. */
export const actionFailure = surfaces.versioned.response({
  name: 'ActionFailedError',
  description: [
    'The provider did not perform the action, or its answer was lost: `details` has `integrationId`, `actionId`, `outcome` and,',
    'if the provider gave one, `providerCode`. With the outcome `unknown` the provider may have performed the action. It is not',
    'repeated, and its Idempotency-Key stays used.',
  ].join(' '),
  example: actionFailed({
    integrationId: 'slack',
    actionId: 'send_message',
    providerCode: 'is_archived',
    outcome: 'failed',
  }),
  always: behindKey,
  sometimes: ['Idempotent-Replayed'],
});
