import { z } from 'zod';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { statusFailure } from '../answers.ts';
import { defineIntegration } from '../integration.ts';
import { withoutSlash } from './base-url.ts';

const scopes = ['offline_access', 'ChannelMessage.Send', 'Team.ReadBasic.All', 'Channel.ReadBasic.All', 'User.Read'];
const me = z.object({ id: z.string(), displayName: z.string() });
const organizations = z.object({ value: z.array(z.object({ id: z.string(), displayName: z.string() })).min(1) });

/** Microsoft Teams over Microsoft Graph, with delegated permissions. */
export const microsoftTeams = defineIntegration({
  id: 'microsoft-teams',
  name: 'Microsoft Teams',
  description: 'Send messages to channels, and be told of messages.',
  category: 'communication',
  settings: {
    TEAMS_CLIENT_ID: foreignKey.optional(),
    TEAMS_CLIENT_SECRET: foreignKey.optional(),
    TEAMS_TENANT: z
      .string()
      .regex(/^[A-Za-z0-9.-]+$/, 'expected the id or the domain of a tenant, common, organizations or consumers')
      .default('organizations'),
    TEAMS_LOGIN_BASE_URL: httpUrl.default('https://login.microsoftonline.com'),
    TEAMS_BASE_URL: httpUrl.default('https://graph.microsoft.com'),
  },
  client(env) {
    const { TEAMS_CLIENT_ID: clientId, TEAMS_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const login = `${withoutSlash(env.TEAMS_LOGIN_BASE_URL)}/${env.TEAMS_TENANT}/oauth2/v2.0`;
    return {
      consent: {
        kind: 'oauth',
        provider: {
          ...{ id: 'microsoft-teams', clientId, clientSecret, pkce: true, clientAuth: 'body' },
          ...{ authorizeUrl: `${login}/authorize`, tokenUrl: `${login}/token`, scopes },
          authorizeParameters: { response_mode: 'query' },
        },
      },
      baseUrl: () => withoutSlash(env.TEAMS_BASE_URL),
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
    };
  },
  scopes: { all: [...scopes, 'ChannelMessage.Read.All'], default: scopes },
  async accountOf(_, call) {
    const { value } = await call.request({ method: 'GET', path: '/v1.0/organization' }, organizations);
    return { id: value[0]!.id, name: value[0]!.displayName, details: {} };
  },
  async test(call) {
    const { displayName } = await call.request({ method: 'GET', path: '/v1.0/me' }, me);
    return { workspace: call.account.name, user: displayName };
  },
  failureOf: statusFailure,
  actions: {},
  triggers: {
    message_received: {
      summary: 'A message was posted to a channel.',
      data: z.object({ channel: z.string(), user: z.string(), text: z.string(), ts: z.string() }),
      example: {
        channel: '19:4a95f7d8db4c4e7fae857bcebe0623e6@thread.tacv2',
        user: '8ea0e38b-efb3-4757-924a-5f94061cf8c2',
        text: 'The build is green.',
        ts: '1616963377068',
      },
    },
  },
});
