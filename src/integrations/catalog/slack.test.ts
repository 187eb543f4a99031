import { describe, expect, test } from '@jest/globals';
import type { InboundRequest } from '../definition/inbound.ts';
import { slack } from './slack.ts';

const inbound = slack.inbound!;

/** https://docs.slack.dev/authentication/verifying-requests-from-slack/ has this request and its signature. */
const documented = {
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&' +
    'channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&' +
    'response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&' +
    'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
};

const request = (json: unknown, body = JSON.stringify(json), headers: Record<string, string> = {}): InboundRequest => ({
  headers,
  query: new URLSearchParams(),
  body: Buffer.from(body),
  json,
  url: 'https://atelier.example.com/api/v1/integrations/slack/events',
});

describe('the signature', () => {
  const { secret, timestamp, signature, body } = documented;
  const now = Number(timestamp) * 1_000;
  const verify = (change: { body?: string; timestamp?: string; signature?: string; secret?: string; now?: number }) => {
    const given = { ...documented, now, ...change };
    const headers = { 'x-slack-request-timestamp': given.timestamp, 'x-slack-signature': given.signature };
    return inbound.verify(request(undefined, given.body, headers), given.secret, given.now);
  };

  test('of the documentation is right, for five minutes', () => {
    expect(verify({})).toBe(true);
    expect([-300_000, 300_000].map((by) => verify({ now: now + by }))).toEqual([true, true]);
    expect([-300_001, 300_001].map((by) => verify({ now: now + by }))).toEqual([false, false]);
  });

  test.each([
    { body: `${body} ` },
    { timestamp: String(Number(timestamp) + 1) },
    { timestamp: `0${timestamp}` },
    { timestamp: '1531420618.0' },
    { timestamp: `${timestamp}, ${timestamp}` },
    { timestamp: '' },
    { signature: signature.toUpperCase() },
    { signature: signature.slice(3) },
    { signature: `${signature}, ${signature}` },
    { signature: '' },
    { secret: `${secret}x` },
  ])('with %j is wrong', (change) => {
    expect(verify(change)).toBe(false);
  });
});

describe('an event', () => {
  const of = (event: object, more: object = {}) =>
    inbound.notices(
      request({
        type: 'event_callback',
        team_id: 'T1',
        event_id: 'Ev1',
        api_app_id: 'A1',
        event,
        authorizations: [{ team_id: 'T1', user_id: 'UBOT', is_bot: true }],
        ...more,
      }),
    );
  const noticesOf = (event: object) => of(event)?.map(({ trigger, data }) => (trigger ? [trigger, data] : []));
  const message = { type: 'message', channel: 'C1', user: 'U1', text: 'hello', ts: '1.2' };
  const shown = { channel: 'C1', user: 'U1', text: 'hello', ts: '1.2' };
  const reaction = {
    type: 'reaction_added',
    user: 'U1',
    reaction: 'tada',
    item: { type: 'message', channel: 'C1', ts: '1.2' },
  };

  test.each<[string, object, unknown[]]>([
    ['a message', message, ['message_received', shown]],
    ['a message in a thread', { ...message, thread_ts: '1.1' }, ['message_received', shown]],
    ['a message with a file', { ...message, subtype: 'file_share' }, ['message_received', shown]],
    [
      'a message of another bot',
      { ...message, user: undefined, bot_id: 'B2', app_id: 'A2', subtype: 'bot_message' },
      ['message_received', { ...shown, user: 'B2' }],
    ],
    ['a message without text', { ...message, text: null }, ['message_received', { ...shown, text: '' }]],
    ['a mention', { ...message, type: 'app_mention' }, ['mention', shown]],
    ['a reaction', reaction, ['reaction_added', { channel: 'C1', user: 'U1', reaction: 'tada', ts: '1.2' }]],
    ["our own bot's message", { ...message, user: 'UBOT', bot_id: 'B1' }, []],
    ["our own app's message", { ...message, app_id: 'A1' }, []],
    ["our own bot's reaction", { ...reaction, user: 'UBOT' }, []],
    ['a change of a message', { ...message, subtype: 'message_changed' }, []],
    ['a reaction to a file', { ...reaction, item: { type: 'file', file: 'F1' } }, []],
    ['a message without a channel', { ...message, channel: undefined }, []],
    ['an event of another type', { type: 'channel_created' }, []],
    ['an event of a type that objects have', { ...message, type: 'constructor' }, []],
  ])('%s', (_, event, expected) => {
    expect(noticesOf(event)).toEqual([expected]);
  });

  test('says when our access ended, and not when that of a person did', () => {
    const endOf = (event: object, at: unknown = 1_503_435_956) => of(event, { event_time: at })![0]!.accessEndedAt;
    const end = new Date('2017-08-22T21:05:56.000Z');
    expect(endOf({ type: 'app_uninstalled' })).toEqual(end);
    expect(endOf({ type: 'tokens_revoked', tokens: { bot: ['UBOT'], oauth: ['U1'] } })).toEqual(end);
    for (const tokens of [{ oauth: ['U1'] }, { bot: [] }, { bot: 'UBOT' }, null]) {
      expect(endOf({ type: 'tokens_revoked', tokens })).toBeUndefined();
    }
    for (const at of ['now', -1, 1e300, null]) expect(endOf({ type: 'app_uninstalled' }, at)).toBeUndefined();
    expect(endOf(message)).toBeUndefined();
  });

  test('is named by Slack, once', () => {
    expect(of(message)).toMatchObject([{ accountId: 'T1', key: 'Ev1' }]);
  });

  test('in another form is none', () => {
    expect([of(message, { event_id: undefined }), of(message, { team_id: 5 }), of(message, { type: 'x' })]).toEqual(
      Array(3).fill(undefined),
    );
    expect(of(message, { event_id: 'x'.repeat(301) })).toBeUndefined();
    expect(inbound.notices(request([message]))).toBeUndefined();
    expect(of({}, { type: 'app_rate_limited' })).toEqual([]);
  });

  test('a challenge is answered, and names its team in the sandbox', () => {
    const asked = request({ type: 'url_verification', challenge: 'abc', token: 'old', team_id: 'T1' });
    expect(inbound.handshake!.isSigned).toBe(true);
    expect(inbound.handshake!.answer(asked)).toEqual({ json: { challenge: 'abc' } });
    expect(inbound.accountOfHandshake!(asked)).toBe('T1');
    expect(inbound.handshake!.answer(request({ type: 'event_callback', challenge: 'abc' }))).toBeUndefined();
    expect(inbound.handshake!.answer(request({ type: 'url_verification', challenge: 5 }))).toBeUndefined();
  });
});
