import { z } from 'zod';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { statusFailure } from '../answers.ts';
import { IntegrationFailure } from '../failures.ts';
import { defineIntegration, type HostedConsent } from '../integration.ts';
import { withoutSlash } from './base-url.ts';

const hosted: HostedConsent = {
  async begin({ callbackUrl, call }) {
    const json = { providers: ['LINKEDIN'], redirect_uri: callbackUrl };
    const { link } = await call.request({ method: 'POST', path: '/v2/auth/link', json }, z.object({ link: z.url() }));
    return link;
  },
  async finish() {
    throw new IntegrationFailure('action_failed');
  },
};

/** LinkedIn by way of Unipile, whose API key stands in for a token. */
export const linkedin = defineIntegration({
  id: 'linkedin',
  name: 'LinkedIn',
  description: 'View profiles, send invitations to connect, and be told of messages.',
  category: 'social',
  settings: {
    UNIPILE_API_KEY: foreignKey.optional(),
    UNIPILE_BASE_URL: httpUrl.default('https://api.unipile.com'),
    UNIPILE_WEBHOOK_SECRET: foreignKey.optional(),
  },
  client(env) {
    const { UNIPILE_API_KEY: apiKey, UNIPILE_WEBHOOK_SECRET: inboundSecret } = env;
    if (apiKey === undefined) return undefined;
    return {
      consent: { kind: 'hosted', hosted, apiKey },
      baseUrl: () => withoutSlash(env.UNIPILE_BASE_URL),
      authorization: (token) => ({ 'x-api-key': token }),
      inboundSecret,
    };
  },
  scopes: { all: [], default: [] },
  async accountOf() {
    throw new IntegrationFailure('action_failed');
  },
  async test(call) {
    const path = `/v2/accounts/${encodeURIComponent(call.account.id)}`;
    const { name } = await call.request({ method: 'GET', path }, z.object({ name: z.string() }));
    return { workspace: 'LinkedIn', user: name };
  },
  failureOf: statusFailure,
  actions: {},
  triggers: {
    message_received: {
      summary: 'A message was received.',
      data: z.object({ channel: z.string(), user: z.string(), text: z.string(), ts: z.string() }),
      example: {
        ...{ channel: 'chat_01j9', user: 'ACoAAAcDMMQBODyLwZrRcgYhrkCafURGqva0U4E', text: 'Thank you!' },
        ts: '2026-11-20T09:30:00.000Z',
      },
    },
  },
});
