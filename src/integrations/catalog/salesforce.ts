import { z } from 'zod';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { statusFailure } from '../answers.ts';
import { IntegrationFailure } from '../failures.ts';
import { defineIntegration } from '../integration.ts';
import { withoutSlash } from './base-url.ts';

const scopes = ['api', 'refresh_token'];
const userInfo = z.object({ organization_id: z.string(), name: z.string() });

/** Salesforce's REST API. It sends no events: they are asked for. */
export const salesforce = defineIntegration({
  id: 'salesforce',
  name: 'Salesforce',
  description: 'Create leads and query records, and be told of new contacts and changed opportunities.',
  category: 'crm',
  settings: {
    SALESFORCE_CLIENT_ID: foreignKey.optional(),
    SALESFORCE_CLIENT_SECRET: foreignKey.optional(),
    SALESFORCE_LOGIN_BASE_URL: httpUrl.default('https://login.salesforce.com'),
  },
  client(env) {
    const { SALESFORCE_CLIENT_ID: clientId, SALESFORCE_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const login = withoutSlash(env.SALESFORCE_LOGIN_BASE_URL);
    return {
      consent: {
        kind: 'oauth',
        provider: {
          ...{ id: 'salesforce', clientId, clientSecret, pkce: true, clientAuth: 'body', scopes },
          authorizeUrl: `${login}/services/oauth2/authorize`,
          tokenUrl: `${login}/services/oauth2/token`,
          revokeUrl: `${login}/services/oauth2/revoke`,
        },
      },
      baseUrl: ({ instanceUrl }) => instanceUrl ?? login,
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
    };
  },
  scopes: { all: scopes, default: scopes },
  async accountOf({ instance_url: instanceUrl }, call) {
    const info = await call.request({ method: 'GET', path: '/services/oauth2/userinfo' }, userInfo);
    if (typeof instanceUrl !== 'string') throw new IntegrationFailure('action_failed');
    return { id: info.organization_id, name: info.name, details: { instanceUrl: withoutSlash(instanceUrl) } };
  },
  async test(call) {
    const { name } = await call.request({ method: 'GET', path: '/services/oauth2/userinfo' }, userInfo);
    return { workspace: call.account.name, user: name };
  },
  failureOf: statusFailure,
  actions: {},
  triggers: {
    contact_created: {
      summary: 'A contact was created.',
      data: z.object({ contactId: z.string(), occurredAt: z.string() }),
      example: { contactId: '003D000000QV9n2IAD', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
    deal_updated: {
      summary: 'An opportunity was changed.',
      data: z.object({ dealId: z.string(), property: z.string(), value: z.string(), occurredAt: z.string() }),
      example: {
        ...{ dealId: '006D000000CWxQ2IAL', property: 'StageName', value: 'Closed Won' },
        occurredAt: '2026-11-20T09:30:00.000Z',
      },
    },
  },
});
