import { z } from 'zod';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { statusFailure } from '../calls/answers.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { ProviderAnswer, ProviderCall } from '../calls/provider-call.ts';
import { defineAction, defineIntegration } from '../definition/integration.ts';
import { digitsOf, momentOf } from '../definition/sandbox-values.ts';
import {
  channelPattern,
  isGone,
  messagesPath,
  notFound,
  teamPattern,
  teamsInbound,
  teamsPush,
} from './microsoft-teams-events.ts';

const scopes = ['offline_access', 'ChannelMessage.Send', 'Team.ReadBasic.All', 'Channel.ReadBasic.All', 'User.Read'];

const name = z.string().max(1_000).nullish();
const me = z.object({ id: z.string().max(100), displayName: name, userPrincipalName: name });
const organizations = z.object({ value: z.array(z.object({ id: z.string().min(1).max(100), displayName: name })) });
const teams = z.object({ value: z.array(z.object({ id: z.string().regex(teamPattern) })).max(10_000) });

/** https://learn.microsoft.com/graph/errors: `{error: {code, message, innerError}}`. */
const errorBody = z.object({ error: z.object({ code: z.string() }) });

/** Codes with which Graph reports too many requests, whatever the status. */
const tooOften = ['TooManyRequests', 'ApplicationThrottled', 'activityLimitReached'];
const tooLarge = ['RequestEntityTooLarge', 'MessageSizeExceeded'];

function failureOf(answer: ProviderAnswer): IntegrationFailure | undefined {
  // Missing resources have many codes.
  const providerCode = answer.status === 404 ? notFound : errorBody.safeParse(answer.body).data?.error.code;
  const failure = statusFailure(answer, providerCode);
  if (failure === undefined) return undefined;
  const { retryAfterSeconds } = failure;
  if (answer.status < 500 && providerCode !== undefined && tooOften.includes(providerCode)) {
    return new IntegrationFailure('rate_limited', { providerCode, retryAfterSeconds });
  }
  const isTooLarge = answer.status === 413 || tooLarge.includes(providerCode ?? '');
  if (answer.status !== 400 && !isTooLarge) return failure;
  const errors = isTooLarge
    ? [{ path: 'content', message: 'The message is too large for Microsoft Teams.' }]
    : [{ path: '', message: `Microsoft Teams refused the request: ${providerCode ?? 'BadRequest'}.` }];
  return new IntegrationFailure('invalid_payload', { providerCode, errors });
}

/** The limit of Teams for a message with everything that belongs to it. */
const largestMessage = 28 * 1024;

const payload = z.object({
  channelId: z
    .string()
    .max(300)
    .refine((text) => {
      const [channel = '', team] = text.split('/').reverse();
      const isTeam = team === undefined || teamPattern.test(team);
      return isTeam && channelPattern.test(channel) && text.split('/').length <= 2;
    }, 'Expected the id of a channel, or <teamId>/<channelId>.'),
  content: z
    .string()
    .min(1)
    // A text of far fewer characters than 28 KB is not counted.
    .max(largestMessage)
    .refine((text) => Buffer.byteLength(text) <= largestMessage, 'Expected at most 28 KB in UTF-8.'),
  contentType: z.enum(['text', 'html']).default('text'),
});

const sent = z.object({ id: z.string().min(1).max(200), createdDateTime: z.string().max(50) });

const wrongChannel = (message: string, providerCode?: string) =>
  new IntegrationFailure('invalid_payload', { providerCode, errors: [{ path: 'channelId', message }] });

/** The team of an id, or the one that was found when the account was connected. */
function placeOf(channelId: string, { account }: ProviderCall): { team: string; channel: string } {
  const [channel, team = account.details.team] = channelId.split('/').reverse();
  if (team !== undefined) return { team, channel: channel! };
  throw wrongChannel('The connected account has no team of its own: send <teamId>/<channelId>.');
}

const sendMessage = defineAction({
  summary: 'Posts a message to a channel, as the person who connected the account.',
  payload,
  answer: z.object({ messageId: z.string(), createdAt: z.string() }),
  example: {
    payload: {
      channelId: 'fbe2bf47-16c8-47cf-b4a5-4b9b187c508b/19:4a95f7d8db4c4e7fae857bcebe0623e6@thread.tacv2',
      content: 'The build is green.',
      contentType: 'text',
    },
    answer: { messageId: '1616963377068', createdAt: '2021-03-28T20:29:37.068Z' },
  },
  writes: true,
  async perform({ channelId, content, contentType }, call) {
    const place = placeOf(channelId, call);
    const json = { body: { contentType, content } };
    try {
      const message = await call.request({ method: 'POST', path: messagesPath(place), json }, sent);
      return { messageId: message.id, createdAt: momentIn(message.createdDateTime) };
    } catch (error) {
      throw isGone(error) ? wrongChannel('Microsoft Teams does not know this channel.', notFound) : error;
    }
  },
  sandbox: (_, seed) => ({
    messageId: `17${digitsOf(seed, 11)}`,
    createdAt: momentOf(seed).toISOString(),
  }),
});

/** With milliseconds, whatever precision it has. */
function momentIn(text: string): string {
  const at = Date.parse(text);
  return Number.isFinite(at) ? new Date(at).toISOString() : text;
}

/** Microsoft Teams over Microsoft Graph, with delegated permissions. */
export const microsoftTeams = defineIntegration({
  id: 'microsoft-teams',
  name: 'Microsoft Teams',
  description: 'Send messages to channels, and receive events for messages.',
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
          id: 'microsoft-teams',
          clientId,
          clientSecret,
          pkce: true,
          clientAuth: 'body',
          authorizeUrl: `${login}/authorize`,
          tokenUrl: `${login}/token`,
          scopes,
          authorizeParameters: { response_mode: 'query' },
        },
      },
      baseUrl: () => withoutSlash(env.TEAMS_BASE_URL),
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
    };
  },
  // To read messages, and so to receive events of them, an administrator of the tenant has to agree: it is not always requested.
  // Without the first there is no new token after an hour; the other one names the owner of the account.
  scopes: {
    all: [...scopes, 'ChannelMessage.Read.All'],
    default: scopes,
    required: ['offline_access', 'User.Read'],
  },
  async accountOf(_, call) {
    const get = <Schema extends z.ZodType>(path: string, select: string, schema: Schema) =>
      call.request({ method: 'GET', path: `/v1.0/${path}`, query: { $select: select } }, schema);
    const [found, person, joined] = await Promise.all([
      get('organization', 'id,displayName', organizations),
      get('me', 'id,displayName,userPrincipalName', me),
      get('me/joinedTeams', 'id', teams).catch(withoutRight),
    ]);
    const [organization, team] = [found.value[0], joined?.value[0]];
    // A personal account belongs to no tenant, and has no teams.
    if (!organization) throw new IntegrationFailure('action_failed', { providerCode: 'no_organization' });
    const details = { user: person.id, ...(team && { team: team.id }) };
    return { id: organization.id, name: organization.displayName || organization.id, details };
  },
  async test(call) {
    const query = { $select: 'id,displayName,userPrincipalName' };
    const person = await call.request({ method: 'GET', path: '/v1.0/me', query }, me);
    return { workspace: call.account.name, user: person.displayName || person.userPrincipalName || person.id };
  },
  failureOf,
  actions: { send_message: sendMessage },
  triggers: {
    message_received: {
      summary:
        "Another person posted a message to a channel of the connected account's first team. Needs the scope ChannelMessage.Read.All.",
      data: z.object({ channel: z.string(), user: z.string(), text: z.string(), ts: z.string() }),
      example: {
        channel: 'fbe2bf47-16c8-47cf-b4a5-4b9b187c508b/19:4a95f7d8db4c4e7fae857bcebe0623e6@thread.tacv2',
        user: '8ea0e38b-efb3-4757-924a-5f94061cf8c2',
        text: 'The build is green.',
        ts: '1616963377068',
      },
    },
  },
  inbound: teamsInbound,
  push: teamsPush,
});

/** A connection with fewer scopes has no default team. */
function withoutRight(error: unknown): undefined {
  if (error instanceof IntegrationFailure && error.kind === 'action_failed') return undefined;
  throw error;
}
