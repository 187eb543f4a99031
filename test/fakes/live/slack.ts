import { expect } from '@jest/globals';
import { slack } from '../../../src/integrations/catalog/slack.ts';
import { type FakeSlack, slackError, slackRateLimit, startFakeSlack } from '../slack.ts';
import { live } from './entry.ts';

const blocks = (count: number) => Array.from({ length: count }, () => ({ type: 'divider' }));
const modal = { type: 'modal', title: { type: 'plain_text', text: 'Feedback' }, blocks: blocks(1) };

export const liveSlack = live<FakeSlack>({
  integration: slack,
  start: startFakeSlack,
  variables: ({ origin, clientId, clientSecret, signingSecret }) => ({
    SLACK_CLIENT_ID: clientId,
    SLACK_CLIENT_SECRET: clientSecret,
    SLACK_SIGNING_SECRET: signingSecret,
    SLACK_LOGIN_BASE_URL: origin,
    SLACK_BASE_URL: `${origin}/`,
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
