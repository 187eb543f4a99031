import { createHash } from 'node:crypto';
import { z } from 'zod';
import { clock } from '../../platform/clock.ts';
import { withoutSlash } from '../../platform/core/base-url.ts';
import { foreignKey, httpUrl } from '../../platform/env-types.ts';
import { isSameSecret } from '../../platform/security/compare-secrets.ts';
import { retryAfterOf, statusFailure, withoutTrace } from '../calls/answers.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import type { Account, ProviderAnswer, ProviderCall } from '../calls/provider-call.ts';
import {
  type Inbound,
  type InboundRequest,
  maxSignedBytes,
  maxUnsignedBytes,
  type Notice,
} from '../definition/inbound.ts';
import { defineAction, defineIntegration, type HostedConsent } from '../definition/integration.ts';
import { hmacOf, isRecent } from '../definition/signatures.ts';

/** https://developer.unipile.com/v2.0/reference/error-responses: RFC 7807 with types such as `provider/conflict`. */
const problem = z.object({ type: z.string() });

function failureOf(answer: ProviderAnswer): IntegrationFailure | undefined {
  const type = problem.safeParse(answer.body).data?.type;
  const providerCode = type?.replace('/', '.');
  const facts = { providerCode, retryAfterSeconds: retryAfterOf(answer) };
  // Our own key was refused: no connected account can help that.
  if (type === 'api/missing_authorization' || type === 'api/invalid_auth_format') {
    return new IntegrationFailure('action_failed', facts);
  }
  if (answer.status === 422 || type === 'provider/invalid_parameters') {
    const errors = [{ path: '', message: 'LinkedIn did not accept these values.' }];
    return new IntegrationFailure('invalid_payload', { ...facts, errors });
  }
  return statusFailure(answer, providerCode);
}

const accountPattern = /^[A-Za-z0-9_-]{1,200}$/;
const part = encodeURIComponent;

const linkAnswer = z.object({ link: z.url({ protocol: /^https?$/ }) });
const linkedAccount = z.object({
  id: z.string().regex(accountPattern),
  provider: z.string(),
  state: z.string().nullish(),
  name: z.string().max(300).nullish(),
  user_id: z.string().max(300).nullish(),
});
const accountAt = (id: string) => ({ method: 'GET' as const, path: `/v2/accounts/${part(id)}` });

const linkSeconds = 600;

/**
 * Unipile's hosted authentication. Its answer names an account, and any account of ours could be named: it counts only
 * where Unipile says that this account was linked with this state.
 */
const hosted: HostedConsent = {
  async begin({ state, callbackUrl, call }) {
    const json = {
      providers: ['linkedin'],
      redirect_uri: callbackUrl,
      state,
      name: state,
      expires_on: new Date(clock.now() + linkSeconds * 1_000).toISOString(),
    };
    const { link } = await call.request({ method: 'POST', path: '/v2/auth/link', json }, linkAnswer);
    return link;
  },
  // Version 2 sends `error_type`, with the account left out.
  isDenied: (query) => query.has('error') || query.has('error_type'),
  async finish({ state, query, call }): Promise<Account> {
    const accountId = query.get('account_id') ?? '';
    const refuse = (providerCode: string) => new IntegrationFailure('action_failed', { providerCode });
    if (!accountPattern.test(accountId)) throw refuse('no_account');
    const { id, provider, user_id: userId, ...account } = await call.request(accountAt(accountId), linkedAccount);
    const isLinked = [account.state, account.name].some((given) => given && isSameSecret(given, state));
    if (!isLinked || id !== accountId || provider.toLowerCase() !== 'linkedin') throw refuse('other_account');
    const name = account.name === state ? undefined : account.name;
    return { id, name: name || userId || id, details: {} };
  },
  async forget({ accountId, call }) {
    await call.request({ ...accountAt(accountId), method: 'DELETE' }, z.unknown());
  },
};

/** @throws IntegrationFailure for an account that is not the connected one */
function checkAccount(accountId: string, { account }: ProviderCall): void {
  if (accountId === 'me' || accountId === account.id) return;
  const message = 'Expected "me" or the id of the connected account.';
  throw new IntegrationFailure('invalid_payload', { errors: [{ path: 'accountId', message }] });
}

const maxUrlLength = 500;
/** The name in `https://www.linkedin.com/in/<name>`. */
const profileUrl = z
  .string()
  .max(maxUrlLength)
  .refine((url) => nameIn(url) !== undefined, 'Expected a URL like https://www.linkedin.com/in/<name>.');
function nameIn(text: string): string | undefined {
  const url = URL.parse(text);
  const isLinkedIn = url?.protocol === 'https:' && /^([a-z]{2,3}\.)?linkedin\.com$/.test(url.hostname);
  if (!isLinkedIn || url.port !== '' || url.username !== '' || url.password !== '') return undefined;
  const [, encoded] = /^\/in\/([^/]+)\/?$/.exec(url.pathname) ?? [];
  if (encoded === undefined) return undefined;
  try {
    const name = decodeURIComponent(encoded);
    return /^[\p{L}\p{N}\p{M}_-]{1,200}$/u.test(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

const profile = z.object({
  id: z.string().max(300).optional(),
  provider_id: z.string().max(300).optional(),
  display_name: z.string().nullish(),
  name: z.string().nullish(),
  first_name: z.string().nullish(),
  last_name: z.string().nullish(),
  headline: z.string().nullish(),
});

async function findProfile(url: string, call: ProviderCall) {
  const path = `/v2/${part(call.account.id)}/users/${part(nameIn(url)!)}`;
  const found = await call.request({ method: 'GET', path, query: { variant: 'linkedin_classic' } }, profile);
  const providerId = found.provider_id ?? found.id;
  if (providerId === undefined) throw new IntegrationFailure('action_failed', { providerCode: 'no_profile' });
  const names = [found.first_name, found.last_name].filter(Boolean).join(' ');
  return {
    providerId,
    name: found.display_name || found.name || names,
    headline: found.headline ?? '',
    profileUrl: url,
  };
}

const target = {
  accountId: z.string().min(1).max(200),
  profileUrl,
  priority: z
    .enum(['low', 'normal', 'high'])
    .default('normal')
    .meta({ description: 'The order among actions that wait. LinkedIn does not receive it.' }),
};

const viewProfile = defineAction({
  summary: 'Reads the profile of a person.',
  payload: z.object(target),
  answer: z.object({ providerId: z.string(), name: z.string(), headline: z.string(), profileUrl: z.string() }),
  example: {
    payload: { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace' },
    answer: {
      providerId: 'ACoAAAcDMMQBODyLwZrRcgYhrkCafURGqva0U4E',
      name: 'Ada Lovelace',
      headline: 'Mathematician',
      profileUrl: 'https://www.linkedin.com/in/ada-lovelace',
    },
  },
  writes: false,
  priority: ({ priority }) => priority,
  async perform({ accountId, profileUrl: url }, call) {
    checkAccount(accountId, call);
    return findProfile(url, call);
  },
  sandbox: ({ profileUrl: url }, seed) => ({
    providerId: `ACoSandbox${seed.slice(0, 24)}`,
    name: nameIn(url)!,
    headline: 'Sandbox profile',
    profileUrl: url,
  }),
});

/** What LinkedIn names an invitation by differs with the kind of account. */
const invited = z
  .object({ request_id: z.string().optional(), invitation_id: z.string().optional(), id: z.string().optional() })
  .transform(({ request_id, invitation_id, id }) => request_id ?? invitation_id ?? id)
  .pipe(z.string().max(300));

const sendConnection = defineAction({
  summary: 'Invites a person to connect, now or later.',
  payload: z.object({
    ...target,
    note: z.string().min(1).max(300).optional(),
    delay: z.int().min(0).max(86_400).default(0),
  }),
  answer: z.object({ status: z.literal('sent'), invitationId: z.string() }),
  example: {
    payload: { accountId: 'me', profileUrl: 'https://www.linkedin.com/in/ada-lovelace', note: 'We met in Berlin.' },
    answer: { status: 'sent', invitationId: '7250123456789012345' },
  },
  writes: true,
  delay: ({ delay }) => delay,
  priority: ({ priority }) => priority,
  async perform({ accountId, profileUrl: url, note }, call) {
    checkAccount(accountId, call);
    // Invitations name a person by the system's own id, which only the profile has.
    const { providerId } = await withoutTrace(findProfile(url, call));
    const path = `/v2/${part(call.account.id)}/users/me/relation-requests`;
    const json = { user_id: providerId, ...(note !== undefined && { message: note }) };
    return { status: 'sent' as const, invitationId: await call.request({ method: 'POST', path, json }, invited) };
  },
  sandbox: (_, seed) => ({ status: 'sent' as const, invitationId: `sandbox_${seed.slice(0, 24)}` }),
});

const text = z.string().max(300);
/** An event of version 2: https://developer.unipile.com/v2.0/docs/webhooks-introduction */
const event = z.object({
  type: z.string().max(100),
  account_id: text,
  payload: z.looseObject({ id: text.optional(), chat_id: text.optional() }).optional(),
});
const message = z.object({
  id: text,
  chat_id: text,
  sender_id: text.optional(),
  is_sender: z.boolean().optional(),
  text: z.string().nullish(),
  timestamp: text,
});
/** An event of version 1: https://developer.unipile.com/docs/new-messages-webhook */
const eventOfOld = z.object({
  event: text,
  account_id: text,
  message_id: text.optional(),
  account_info: z.object({ user_id: text.optional() }).optional(),
});
const messageOfOld = z.object({
  chat_id: text,
  timestamp: text,
  message: z.string().nullish(),
  sender: z.object({ attendee_provider_id: text }),
});

const hashOf = (body: Buffer) => createHash('sha256').update(body).digest('hex');

function noticeOf({ json, body }: InboundRequest): Notice | undefined {
  const { data: given } = event.safeParse(json);
  if (given) {
    const { id, chat_id: chat } = given.payload ?? {};
    // Ids of messages are unique within their chat.
    const key =
      id === undefined || chat === undefined ? hashOf(body) : `${given.type} ${hashOf(Buffer.from(`${chat} ${id}`))}`;
    const { data } = given.type === 'message.new' ? message.safeParse(given.payload) : {};
    if (!data || data.is_sender) return { accountId: given.account_id, key };
    const { chat_id: channel, sender_id: user = '', timestamp: ts } = data;
    const content = { channel, user, text: data.text ?? '', ts };
    return { accountId: given.account_id, key, trigger: 'message_received', data: content };
  }
  const { data: old } = eventOfOld.safeParse(json);
  if (!old) return undefined;
  const notice = { accountId: old.account_id, key: old.message_id ?? hashOf(body) };
  const { data } = old.event === 'message_received' ? messageOfOld.safeParse(json) : {};
  if (!data || data.sender.attendee_provider_id === old.account_info?.user_id) return notice;
  const { chat_id: channel, sender, timestamp: ts } = data;
  const content = { channel, user: sender.attendee_provider_id, text: data.message ?? '', ts };
  return { ...notice, trigger: 'message_received', data: content };
}

const signed = /^t=(\d+),v0=([0-9a-f]{64})$/;

const inbound: Inbound = {
  acknowledged: 200,
  notices(request) {
    const notice = noticeOf(request);
    return notice && [notice];
  },
  maxBodyBytes(headers, now) {
    const signature = headers['unipile-signature'];
    if (signature === undefined) return headers['unipile-auth'] === undefined ? undefined : maxUnsignedBytes;
    const [, timestamp] = signed.exec(signature) ?? [];
    return isRecent(timestamp, 1_000, now) ? maxSignedBytes : undefined;
  },
  // A header that the webhook was created with; version 2 can sign as well, and a signature that is there has to be right.
  verify({ headers, body }, secret, now) {
    const signature = headers['unipile-signature'];
    if (signature === undefined) return isSameSecret(headers['unipile-auth'], secret);
    const [, timestamp, given] = signed.exec(signature) ?? [];
    return isRecent(timestamp, 1_000, now) && isSameSecret(given, hmacOf(secret, 'hex', `${timestamp}.`, body));
  },
};

/** LinkedIn through Unipile, whose API key replaces a token. */
export const linkedin = defineIntegration({
  id: 'linkedin',
  name: 'LinkedIn',
  description: 'View profiles, send invitations to connect, and receive events for messages.',
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
  // There is no token endpoint: `hosted` finds out whose account it is.
  async accountOf() {
    throw new IntegrationFailure('action_failed');
  },
  async test(call) {
    await call.request(accountAt(call.account.id), linkedAccount);
    return { workspace: 'LinkedIn', user: call.account.name };
  },
  failureOf,
  actions: { view_profile: viewProfile, send_connection: sendConnection },
  triggers: {
    message_received: {
      summary: 'A message was received.',
      data: z.object({ channel: z.string(), user: z.string(), text: z.string(), ts: z.string() }),
      example: {
        channel: 'chat_01j9',
        user: 'ACoAAAcDMMQBODyLwZrRcgYhrkCafURGqva0U4E',
        text: 'Thank you!',
        ts: '2026-11-20T09:30:00.000Z',
      },
    },
  },
  inbound,
});
