import { expect } from '@jest/globals';
import { linkedin } from '../../src/integrations/catalog/linkedin.ts';
import { slack } from '../../src/integrations/catalog/slack.ts';
import type { FailureKind } from '../../src/integrations/failures.ts';
import type { Integration } from '../../src/integrations/integration.ts';
import type { Account } from '../../src/integrations/provider-call.ts';
import type { FakeApp } from './oauth-app.ts';
import { type FakeSlack, slackError, slackRateLimit, startFakeSlack } from './slack.ts';
import { type FakeUnipile, startFakeUnipile, unipileError, unipileRateLimit } from './unipile.ts';
import type { WireAnswer } from './wire-server.ts';

/** An action, and what the fake makes of it. */
export interface LiveAction {
  /** One that succeeds; a new one each time, for what can be done once. */
  payload(): unknown;
  /** What it answers, at least. */
  answer: object;
  /** How many requests are made before the one that matters. */
  before?: number;
  /** Payloads that are refused before anything is sent, and where. */
  invalid: [payload: unknown, path: string][];
  /** Payloads that the provider, or who knows the account, refuses. */
  refused: [payload: unknown, kind: FailureKind, path?: string][];
}

/** An integration and the fake that speaks its provider's wire format: what the conformance suite has to know. */
export interface LiveIntegration<Fake extends FakeApp = FakeApp> {
  integration: Integration;
  start(): Promise<Fake>;
  /** The environment. */
  variables(fake: Fake): Record<string, string>;
  /** One that the fake has. */
  account(fake: Fake): Account;
  /** What is accepted as a proof of access to it. */
  token(fake: Fake): string;
  /** What an answer of `test` is, at least. */
  identity: object;
  rateLimited(seconds: number): WireAnswer;
  /** Answers that mean that the token is refused. */
  expired: WireAnswer[];
  /** What further answers mean, and the code that is passed on. */
  meanings: [answer: WireAnswer, kind: FailureKind, code?: string][];
  actions: Record<string, LiveAction>;
}

const live = <Fake extends FakeApp>(one: LiveIntegration<Fake>) => one as unknown as LiveIntegration;
const blocks = (count: number) => Array.from({ length: count }, () => ({ type: 'divider' }));
const modal = { type: 'modal', title: { type: 'plain_text', text: 'Feedback' }, blocks: blocks(1) };

const liveSlack = live<FakeSlack>({
  integration: slack,
  start: startFakeSlack,
  variables: ({ origin, clientId, clientSecret, signingSecret }) => ({
    ...{ SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret, SLACK_SIGNING_SECRET: signingSecret },
    ...{ SLACK_LOGIN_BASE_URL: origin, SLACK_BASE_URL: `${origin}/` },
  }),
  account: () => ({ id: 'T0001', name: 'Team T0001', details: { botUserId: 'UBOT' } }),
  token: (fake) => fake.accessToken('T0001'),
  identity: { workspace: 'Team T0001', user: 'atelier' },
  rateLimited: slackRateLimit,
  expired: ['token_expired', 'token_revoked', 'invalid_auth', 'account_inactive'].map((error) => slackError(error)),
  meanings: [
    [slackError('channel_not_found'), 'invalid_payload', 'channel_not_found'],
    [slackError('not_in_channel'), 'invalid_payload', 'not_in_channel'],
    [slackError('invalid_blocks'), 'invalid_payload', 'invalid_blocks'],
    [slackError('invalid_arguments'), 'invalid_payload', 'invalid_arguments'],
    [slackError('msg_too_long'), 'invalid_payload', 'msg_too_long'],
    [slackError('trigger_expired'), 'invalid_payload', 'trigger_expired'],
    [slackError('trigger_exchanged'), 'invalid_payload', 'trigger_exchanged'],
    [slackError('is_archived'), 'action_failed', 'is_archived'],
    [slackError('missing_scope'), 'action_failed', 'missing_scope'],
    [slackError('ratelimited'), 'rate_limited', 'ratelimited'],
    [slackError('fatal_error'), 'lost', 'fatal_error'],
    [slackError('x'.repeat(101)), 'action_failed'],
    [slackError('<script>'), 'action_failed'],
    [slackError('constructor'), 'action_failed', 'constructor'],
    [{ status: 200, body: { ok: true } }, 'lost'],
    [{ status: 200, body: { ok: 'yes' } }, 'lost'],
    [{ status: 403, body: 'no' }, 'action_failed'],
  ],
  actions: {
    send_message: {
      payload: () => ({ channel: 'C0123456789', text: 'Grüße', blocks: blocks(50) }),
      answer: { channel: 'C0123456789', ts: expect.stringMatching(/^\d+\.\d{6}$/) },
      invalid: [
        [{ text: 'no channel' }, 'channel'],
        [{ channel: 'C1' }, 'text'],
        [{ channel: '', text: 'x' }, 'channel'],
        [{ channel: 'C1', text: 'x'.repeat(40_001) }, 'text'],
        [{ channel: 'C1', blocks: blocks(51) }, 'blocks'],
        [{ channel: 'C1', blocks: ['x'] }, 'blocks.0'],
        [{ channel: 1, text: 'x' }, 'channel'],
      ],
      refused: [[{ channel: 'C9999', text: 'x' }, 'invalid_payload', 'channel']],
    },
    open_modal: {
      payload: () => ({ triggerId: '12345.98765.abcd2358fdea', view: { ...modal, submit: { type: 'plain_text' } } }),
      answer: { viewId: 'V0123456789' },
      invalid: [
        [{ view: modal }, 'triggerId'],
        [{ triggerId: 't' }, 'view'],
        [{ triggerId: 't', view: { ...modal, type: 'home' } }, 'view.type'],
        [{ triggerId: 't', view: { ...modal, title: undefined } }, 'view.title'],
        [{ triggerId: 't', view: { ...modal, blocks: blocks(101) } }, 'view.blocks'],
      ],
      refused: [[{ triggerId: 'expired', view: modal }, 'invalid_payload', 'triggerId']],
    },
  },
});

const ada = 'https://www.linkedin.com/in/ada-lovelace';
let people = 0;

const profileUrls = [
  'http://www.linkedin.com/in/ada',
  'https://www.linkedin.com.evil.example/in/ada',
  'https://evil.example/in/ada',
  'https://ada@www.linkedin.com/in/ada',
  'https://www.linkedin.com:8443/in/ada',
  'https://www.linkedin.com/company/ada',
  'https://www.linkedin.com/in/',
  'https://www.linkedin.com/in/a/b',
  'https://www.linkedin.com/in/..%2F..%2Faccounts',
  'https://www.linkedin.com/in/%2e%2e',
  'https://www.linkedin.com/in/%E0%A4%A',
  `https://www.linkedin.com/in/${'a'.repeat(201)}`,
  'ada',
];
const invalidTargets = profileUrls.map((profileUrl): [unknown, string] => [
  { accountId: 'me', profileUrl },
  'profileUrl',
]);

const liveLinkedin = live<FakeUnipile>({
  integration: linkedin,
  start: startFakeUnipile,
  variables: ({ origin, apiKey, webhookSecret }) => ({
    ...{ UNIPILE_API_KEY: apiKey, UNIPILE_BASE_URL: origin, UNIPILE_WEBHOOK_SECRET: webhookSecret },
  }),
  account({ accounts }) {
    accounts.set('acc_ada', { state: 'used', provider: 'linkedin' });
    return { id: 'acc_ada', name: 'Grace Hopper', details: {} };
  },
  token: ({ apiKey }) => apiKey,
  identity: { workspace: 'LinkedIn', user: 'Grace Hopper' },
  rateLimited: unipileRateLimit,
  expired: [unipileError(401, 'provider/invalid_authorization'), unipileError(401, 'api/expired_authorization')],
  meanings: [
    [unipileError(401, 'api/missing_authorization'), 'action_failed', 'api.missing_authorization'],
    [unipileError(400, 'provider/invalid_parameters'), 'invalid_payload', 'provider.invalid_parameters'],
    [unipileError(422, 'provider/unprocessable_entity'), 'invalid_payload', 'provider.unprocessable_entity'],
    [unipileError(403, 'provider/insufficient_permissions'), 'action_failed', 'provider.insufficient_permissions'],
    [unipileError(404, 'provider/resource_not_found'), 'action_failed', 'provider.resource_not_found'],
    [unipileError(409, 'provider/conflict'), 'action_failed', 'provider.conflict'],
    [unipileError(500, 'api/internal_error'), 'lost', 'api.internal_error'],
  ],
  actions: {
    view_profile: {
      payload: () => ({ accountId: 'me', profileUrl: ada, priority: 'high' }),
      answer: { providerId: 'ACoAAada-lovelace', name: 'Ada Lovelace', headline: 'Mathematician', profileUrl: ada },
      invalid: [
        ...invalidTargets,
        [{ profileUrl: ada }, 'accountId'],
        [{ accountId: 'me', profileUrl: ada, priority: 'urgent' }, 'priority'],
      ],
      refused: [
        [{ accountId: 'acc_other', profileUrl: ada }, 'invalid_payload', 'accountId'],
        [{ accountId: 'me', profileUrl: 'https://www.linkedin.com/in/nobody' }, 'action_failed'],
      ],
    },
    send_connection: {
      payload: () => ({ accountId: 'acc_ada', profileUrl: `${ada}-${++people}`, note: 'x'.repeat(300), delay: 0 }),
      answer: { status: 'sent', invitationId: expect.stringMatching(/^invitation-\d+$/) },
      before: 1,
      invalid: [
        [{ accountId: 'me' }, 'profileUrl'],
        [{ accountId: 'me', profileUrl: ada, note: 'x'.repeat(301) }, 'note'],
        [{ accountId: 'me', profileUrl: ada, delay: 86_401 }, 'delay'],
        [{ accountId: 'me', profileUrl: ada, delay: -1 }, 'delay'],
        [{ accountId: 'me', profileUrl: ada, delay: 1.5 }, 'delay'],
      ],
      refused: [[{ accountId: 'me', profileUrl: 'https://www.linkedin.com/in/nobody' }, 'action_failed']],
    },
  },
});

export const liveIntegrations: LiveIntegration[] = [liveSlack, liveLinkedin];
