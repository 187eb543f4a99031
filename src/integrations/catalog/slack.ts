import { z } from 'zod';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { retryAfterOf, statusFailure } from '../calls/answers.ts';
import { type FailureKind, IntegrationFailure } from '../calls/failures.ts';
import type { ProviderAnswer, ProviderCall, ProviderRequest } from '../calls/provider-call.ts';
import { asGiven } from '../definition/as-given.ts';
import { defineAction, defineIntegration } from '../definition/integration.ts';
import { slackInbound } from './slack-events.ts';

const scopes = ['chat:write', 'channels:read', 'reactions:read', 'app_mentions:read', 'channels:history'];

/** Errors of Slack's methods that say something else than that the method failed. */
const meanings = new Map<string, FailureKind>(
  Object.entries({
    token_expired: 'auth_expired',
    token_revoked: 'auth_expired',
    invalid_auth: 'auth_expired',
    account_inactive: 'auth_expired',
    ratelimited: 'rate_limited',
    channel_not_found: 'invalid_payload',
    not_in_channel: 'invalid_payload',
    invalid_blocks: 'invalid_payload',
    invalid_arguments: 'invalid_payload',
    msg_too_long: 'invalid_payload',
    trigger_expired: 'invalid_payload',
    trigger_exchanged: 'invalid_payload',
    // "It's possible some aspect of the operation succeeded before the error was raised."
    fatal_error: 'lost',
    internal_error: 'lost',
  }),
);

/** Which part of a payload an error is about. */
const places: Readonly<Record<string, { path: string; message: string }>> = {
  channel_not_found: { path: 'channel', message: 'Slack does not know this channel.' },
  not_in_channel: { path: 'channel', message: 'The app is not a member of this channel.' },
  invalid_blocks: { path: 'blocks', message: 'Slack did not accept these blocks.' },
  msg_too_long: { path: 'text', message: 'The text is too long for Slack.' },
  trigger_expired: { path: 'triggerId', message: 'The trigger has expired: a modal is opened within three seconds.' },
  trigger_exchanged: { path: 'triggerId', message: 'The trigger was used before.' },
};

const saidOf = (body: unknown) => z.object({ ok: z.boolean(), error: z.string().optional() }).safeParse(body).data;

/** Slack answers 200 to most requests that it refuses: `{ok: false, error}`. */
function failureOf(answer: ProviderAnswer): IntegrationFailure | undefined {
  const said = saidOf(answer.body);
  const error = said?.ok === false ? said.error : undefined;
  const kind = error === undefined ? undefined : meanings.get(error);
  if (kind === undefined || answer.status === 429) {
    const byStatus = statusFailure(answer, error);
    return (
      byStatus ?? (said?.ok === false ? new IntegrationFailure('action_failed', { providerCode: error }) : undefined)
    );
  }
  const place = error === undefined ? undefined : places[error];
  return new IntegrationFailure(kind, {
    providerCode: error,
    retryAfterSeconds: retryAfterOf(answer),
    ...(kind === 'invalid_payload' && {
      errors: [place ?? { path: '', message: `Slack refused the request: ${error}.` }],
    }),
  });
}

/** Methods are called with JSON, so that blocks and views need not be quoted within a form. */
const method = (name: string, json: unknown): ProviderRequest => ({ method: 'POST', path: `/api/${name}`, json });

const block = asGiven(z.record(z.string(), z.unknown()));
const id = z.string().trim().min(1).max(255);

const sendMessage = defineAction({
  summary: 'Posts a message to a channel.',
  payload: z
    .object({
      channel: id,
      text: z.string().min(1).max(40_000).optional(),
      blocks: z.array(block).min(1).max(50).optional(),
    })
    .refine(({ text, blocks }) => text !== undefined || blocks !== undefined, {
      path: ['text'],
      message: 'Expected text, blocks or both.',
    }),
  answer: z.object({ channel: z.string(), ts: z.string() }),
  example: {
    payload: { channel: 'C0123456789', text: 'The build is green.' },
    answer: { channel: 'C0123456789', ts: '1503435956.000247' },
  },
  writes: true,
  async perform(payload, call) {
    const { channel, ts } = await call.request(method('chat.postMessage', payload), sentMessage);
    return { channel, ts };
  },
  sandbox: ({ channel }, seed) => ({
    channel,
    ts: `1700000000.${String(Number.parseInt(seed.slice(0, 8), 16) % 1e6).padStart(6, '0')}`,
  }),
});
const sentMessage = z.object({ channel: z.string(), ts: z.string() });

const openModal = defineAction({
  summary: 'Opens a modal for a person who just used a shortcut, a button or a command.',
  payload: z.object({
    triggerId: id,
    view: asGiven(
      z.looseObject({
        type: z.literal('modal', { error: 'Expected "modal".' }),
        title: z.looseObject({ type: z.literal('plain_text'), text: z.string().min(1).max(24) }),
        blocks: z.array(block).max(100),
      }),
    ),
  }),
  answer: z.object({ viewId: z.string() }),
  example: {
    payload: {
      triggerId: '12345.98765.abcd2358fdea',
      view: {
        type: 'modal',
        title: { type: 'plain_text', text: 'Feedback' },
        blocks: [{ type: 'section', text: { type: 'plain_text', text: 'What do you think?' } }],
      },
    },
    answer: { viewId: 'V0123456789' },
  },
  writes: true,
  async perform({ triggerId, view }, call) {
    const { view: opened } = await call.request(method('views.open', { trigger_id: triggerId, view }), openedView);
    return { viewId: opened.id };
  },
  sandbox: (_, seed) => ({ viewId: `V${seed.slice(0, 10).toUpperCase()}` }),
});
const openedView = z.object({ view: z.object({ id: z.string() }) });

const installed = z.object({
  team: z.object({ id: z.string(), name: z.string().nullish() }),
  bot_user_id: z.string().nullish(),
  app_id: z.string().nullish(),
});
/** Errors of `oauth.v2.access` in the words of RFC 6749; others are passed on as they are. */
const tokenErrors = new Map([
  ...['invalid_code', 'code_already_used', 'invalid_refresh_token', 'token_revoked', 'token_expired'].map(
    (error) => [error, 'invalid_grant'] as const,
  ),
  ['account_inactive', 'invalid_grant'] as const,
  ['bad_client_secret', 'invalid_client'] as const,
  ...['ratelimited', 'service_unavailable'].map((error) => [error, 'temporarily_unavailable'] as const),
  ...['internal_error', 'fatal_error'].map((error) => [error, 'server_error'] as const),
]);

/** Slack says `ok`, and gives tokens of the type `bot`. */
function tokenAnswer(answer: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (answer.ok === true) return { ...answer, token_type: 'bearer' };
  const error = typeof answer.error === 'string' ? answer.error : 'server_error';
  return { error: tokenErrors.get(error) ?? error };
}

const identity = z.object({ team: z.string(), user: z.string() });

const event = (summary: string, member: 'text' | 'reaction', example: string) => ({
  summary,
  data: z.object({ channel: z.string(), user: z.string(), [member]: z.string(), ts: z.string() }),
  example: { channel: 'C0123456789', user: 'U0123456789', [member]: example, ts: '1503435956.000247' },
});

/** Slack, as the bot of an app that is installed in a workspace. */
export const slack = defineIntegration({
  id: 'slack',
  name: 'Slack',
  description: 'Post messages and open modals, and receive events for messages, mentions and reactions.',
  category: 'communication',
  settings: {
    SLACK_CLIENT_ID: foreignKey.optional(),
    SLACK_CLIENT_SECRET: foreignKey.optional(),
    SLACK_SIGNING_SECRET: foreignKey.optional(),
    SLACK_LOGIN_BASE_URL: httpUrl.default('https://slack.com'),
    SLACK_BASE_URL: httpUrl.default('https://slack.com'),
  },
  client(env) {
    const { SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret } = env;
    if (clientId === undefined || clientSecret === undefined) return undefined;
    const api = withoutSlash(env.SLACK_BASE_URL);
    return {
      consent: {
        kind: 'oauth',
        provider: {
          // An app that uses PKCE becomes a public client for good, with refresh tokens that end after 30 days.
          id: 'slack',
          clientId,
          clientSecret,
          pkce: false,
          clientAuth: 'body',
          scopes,
          authorizeUrl: `${withoutSlash(env.SLACK_LOGIN_BASE_URL)}/oauth/v2/authorize`,
          tokenUrl: `${api}/api/oauth.v2.access`,
          // A workspace has one bot of an app, whichever user installed it.
          revokeUrl: `${api}/api/auth.revoke`,
          revokesAccount: true,
          revokesAccessToken: true,
          scopeSeparator: ',',
          tokenAnswer,
        },
      },
      baseUrl: () => api,
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
      inboundSecret: env.SLACK_SIGNING_SECRET,
    };
  },
  scopes: { all: scopes, default: scopes },
  async accountOf(answer) {
    const read = installed.safeParse(answer);
    // An app that is installed for a whole enterprise has no team.
    if (!read.success) throw new IntegrationFailure('action_failed', { providerCode: 'no_team' });
    const { team, bot_user_id: botUserId, app_id: appId } = read.data;
    const details = { ...(botUserId && { botUserId }), ...(appId && { appId }) };
    return { id: team.id, name: team.name ?? team.id, details };
  },
  async test(call: ProviderCall) {
    const { team, user } = await call.request(method('auth.test', {}), identity);
    return { workspace: team, user };
  },
  failureOf,
  actions: { send_message: sendMessage, open_modal: openModal },
  triggers: {
    message_received: event('A message was posted to a channel that the app is in.', 'text', 'The build is green.'),
    mention: event('The app was mentioned.', 'text', '<@U0987654321> how is the build?'),
    reaction_added: event('A reaction was added to a message.', 'reaction', 'thumbsup'),
  },
  inbound: slackInbound,
});
