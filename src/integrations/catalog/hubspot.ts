import { z } from 'zod';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { statusFailure } from '../answers.ts';
import { defineIntegration } from '../integration.ts';
import { withoutSlash } from './base-url.ts';

const scopes = ['oauth', 'crm.objects.contacts.read', 'crm.objects.contacts.write', 'crm.objects.deals.read'];
const details = z.object({ portalId: z.int(), uiDomain: z.string() });

/** HubSpot's CRM. */
export const hubspot = defineIntegration({
  id: 'hubspot',
  name: 'HubSpot',
  description: 'Create and update contacts, and be told of new contacts and changed deals.',
  category: 'crm',
  settings: {
    HUBSPOT_CLIENT_ID: foreignKey.optional(),
    HUBSPOT_CLIENT_SECRET: foreignKey.optional(),
    HUBSPOT_LOGIN_BASE_URL: httpUrl.default('https://app.hubspot.com'),
    HUBSPOT_BASE_URL: httpUrl.default('https://api.hubapi.com'),
  },
  client(env) {
    const { HUBSPOT_CLIENT_ID: clientId, HUBSPOT_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const api = withoutSlash(env.HUBSPOT_BASE_URL);
    return {
      consent: {
        kind: 'oauth',
        provider: {
          ...{ id: 'hubspot', clientId, clientSecret, pkce: true, clientAuth: 'body', scopes },
          authorizeUrl: `${withoutSlash(env.HUBSPOT_LOGIN_BASE_URL)}/oauth/authorize`,
          tokenUrl: `${api}/oauth/2026-03/token`,
          ...{ revokeUrl: `${api}/oauth/2026-03/token/revoke`, authenticatesRevocation: true },
        },
      },
      baseUrl: () => api,
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
      inboundSecret: clientSecret,
    };
  },
  scopes: { all: scopes, default: scopes },
  async accountOf(_, call) {
    const path = '/account-info/2026-03/details';
    const { portalId, uiDomain } = await call.request({ method: 'GET', path }, details);
    return { id: String(portalId), name: uiDomain, details: {} };
  },
  async test(call) {
    const path = '/account-info/2026-03/details';
    const { portalId, uiDomain } = await call.request({ method: 'GET', path }, details);
    return { workspace: uiDomain, user: String(portalId) };
  },
  failureOf: statusFailure,
  actions: {},
  triggers: {
    contact_created: {
      summary: 'A contact was created.',
      data: z.object({ contactId: z.string(), occurredAt: z.string() }),
      example: { contactId: '51', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
    deal_updated: {
      summary: 'A property of a deal was changed.',
      data: z.object({ dealId: z.string(), property: z.string(), value: z.string(), occurredAt: z.string() }),
      example: { dealId: '17', property: 'dealstage', value: 'closedwon', occurredAt: '2026-11-20T09:30:00.000Z' },
    },
  },
});
