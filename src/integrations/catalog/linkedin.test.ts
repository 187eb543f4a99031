import { describe, expect, test } from '@jest/globals';
import { unipileSignature } from '../../../test/fakes/unipile.ts';
import type { InboundRequest } from '../definition/inbound.ts';
import { linkedin } from './linkedin.ts';

const inbound = linkedin.inbound!;
const secret = 'webhook-secret';
const request = (json: unknown, headers: Record<string, string> = {}): InboundRequest => ({
  headers,
  query: new URLSearchParams(),
  body: Buffer.from(JSON.stringify(json)),
  json,
  url: 'https://atelier.example.com/api/v1/integrations/linkedin/events',
});

/** https://developer.unipile.com/docs/new-messages-webhook */
const old = {
  event: 'message_received',
  account_id: 'acc_1',
  account_type: 'LINKEDIN',
  message_id: 'm1',
  chat_id: 'c1',
  timestamp: '2026-11-20T09:30:00.000Z',
  message: 'hello',
  account_info: { user_id: 'ACoMe' },
  sender: { attendee_provider_id: 'ACoAda', attendee_name: 'Ada' },
};
/** https://developer.unipile.com/v2.0/docs/webhooks-introduction */
const recent = {
  id: 'evt_1',
  type: 'message.new',
  account_id: 'acc_1',
  payload: {
    id: 'm1',
    chat_id: 'c1',
    sender_id: 'ACoAda',
    is_sender: false,
    text: 'hello',
    timestamp: '2026-11-20T09:30:00.000Z',
  },
};
const shown = { channel: 'c1', user: 'ACoAda', text: 'hello', ts: '2026-11-20T09:30:00.000Z' };
const payload = (more: object) => ({ ...recent, payload: { ...recent.payload, ...more } });

describe('an event', () => {
  test.each<[string, object, object]>([
    ['a message', recent, { trigger: 'message_received', data: shown }],
    ['a message of version 1', old, { trigger: 'message_received', data: shown, key: 'm1' }],
    ['a message without text', payload({ text: null }), { data: { ...shown, text: '' } }],
  ])('%s', (_, event, expected) => {
    expect(inbound.notices(request(event))).toMatchObject([{ accountId: 'acc_1', ...expected }]);
  });

  test.each<[string, object]>([
    ['our own message', payload({ is_sender: true })],
    ['our own message of version 1', { ...old, sender: { attendee_provider_id: 'ACoMe' } }],
    ['a message without a chat', payload({ chat_id: undefined })],
    ['an event of another type', { ...recent, type: 'message.edit' }],
    ['another event of version 1', { ...old, event: 'message_read' }],
    ['an event of an account', { type: 'account.add', account_id: 'acc_1' }],
  ])('%s is not published', (_, event) => {
    const [notice, ...others] = inbound.notices(request(event))!;
    expect([notice!.accountId, notice!.trigger, others]).toEqual(['acc_1', undefined, []]);
  });

  test('has one name, and another in another chat', () => {
    const keyOf = (event: object) => inbound.notices(request(event))![0]!.key;
    expect(keyOf(recent)).toBe(keyOf({ ...recent, id: 'evt_2' }));
    expect(keyOf(recent)).not.toBe(keyOf(payload({ chat_id: 'c2' })));
    expect(keyOf({ ...old, message_id: undefined })).toMatch(/^[0-9a-f]{64}$/);
  });

  test.each([[[]], [{}], ['x'], [{ type: 'message.new' }], [{ event: 5, account_id: 'acc_1' }]])(
    '%j is none',
    (json) => {
      expect(inbound.notices(request(json))).toBeUndefined();
    },
  );
});

describe('its proof', () => {
  const now = 1_795_000_000_000;
  const verify = (headers: Record<string, string>, at = now) => inbound.verify(request(recent, headers), secret, at);
  const signed = unipileSignature(JSON.stringify(recent), secret, now);

  test('is a header that is agreed on, or a signature', () => {
    expect([verify({ 'unipile-auth': secret }), verify(signed)]).toEqual([true, true]);
    expect([verify(signed, now + 300_000), verify(signed, now + 301_000)]).toEqual([true, false]);
  });

  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['another secret', { 'unipile-auth': `${secret}x` }],
    ['a secret twice', { 'unipile-auth': `${secret}, ${secret}` }],
    ['the signature of another body', unipileSignature('{}', secret, now)],
    ['the signature of another secret', unipileSignature(JSON.stringify(recent), 'other', now)],
    ['a wrong signature beside the secret', { ...unipileSignature('{}', secret, now), 'unipile-auth': secret }],
    ['half a signature', { 'unipile-signature': 't=1795000000' }],
  ])('is not %s', (_, headers) => {
    expect(verify(headers)).toBe(false);
  });
});
