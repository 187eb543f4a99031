import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ConnectedAccount, connectAccount, performChecked } from '../../../test/fakes/connected-account.ts';
import { type FakeHubSpot, hubspotError, hubspotRateLimit, startFakeHubSpot } from '../../../test/fakes/hubspot.ts';
import type { InboundRequest } from '../definition/inbound.ts';
import { hubspot } from './hubspot.ts';

let fake: FakeHubSpot;
let connected: ConnectedAccount;

beforeAll(async () => {
  fake = await startFakeHubSpot();
  const settings = { HUBSPOT_LOGIN_BASE_URL: fake.origin, HUBSPOT_BASE_URL: fake.origin };
  connected = await connectAccount(hubspot, fake, settings, { prefix: 'HUBSPOT' });
});
beforeEach(() => fake.reset());
afterAll(async () => {
  await connected.close();
  await fake.close();
});

const perform = (action: string, payload: object) => performChecked(hubspot, action, payload, connected.call);
const fieldsOf = (action: string, payload: unknown) =>
  hubspot.actions[action]!.payload.safeParse(payload).error?.issues.map(({ path }) => path.join('.'));

test('the account is the portal', async () => {
  expect(connected.account).toEqual({ id: '62515', name: 'HubSpot 62515', details: { user: '4711' } });
  expect(await hubspot.test(connected.call)).toEqual({ workspace: 'HubSpot 62515', user: '4711' });
});

test('contacts are created and changed, with values as strings', async () => {
  const properties = { email: 'ada@example.com', firstname: 'Ada', employees: 3, vip: true };
  const written = { email: 'ada@example.com', firstname: 'Ada', employees: '3', vip: 'true' };
  const made = (await perform('create_contact', { properties })) as { id: string };
  const times = { createdAt: expect.any(String), updatedAt: expect.any(String) };
  expect(made).toEqual({ id: expect.stringMatching(/^\d+$/), properties: expect.objectContaining(written), ...times });
  const changed = await perform('update_contact', { contactId: made.id, properties: { firstname: 'Augusta' } });
  expect(changed).toMatchObject({ id: made.id, properties: { firstname: 'Augusta' } });
  expect(fake.journal.map(({ method, body }) => [method, body])).toEqual([
    ['POST', { properties: written }],
    ['PATCH', { properties: { firstname: 'Augusta' } }],
  ]);
  await expect(perform('create_contact', { properties })).rejects.toMatchObject({
    kind: 'action_failed',
    providerCode: 'CONFLICT',
  });
  const wrong = perform('create_contact', { properties: { email: 'nobody', nope: 'x' } });
  await expect(wrong).rejects.toMatchObject({
    kind: 'invalid_payload',
    errors: [
      { path: 'properties.email', message: 'HubSpot did not accept this value: INVALID_EMAIL.' },
      { path: 'properties.nope', message: 'HubSpot did not accept this value: PROPERTY_DOESNT_EXIST.' },
    ],
  });
  const unknown = perform('update_contact', { contactId: '999', properties: { firstname: 'x' } });
  await expect(unknown).rejects.toMatchObject({ kind: 'action_failed', providerCode: 'OBJECT_NOT_FOUND' });
});

test('payloads that do not fit name the field', () => {
  const properties = { email: 'ada@example.com' };
  expect(fieldsOf('create_contact', {})).toEqual(['properties']);
  expect(fieldsOf('create_contact', { properties: {} })).toEqual(['properties']);
  expect(fieldsOf('create_contact', { properties: [] })).toEqual(['properties']);
  expect(fieldsOf('create_contact', { properties: { email: null, a: {} } })).toEqual([
    'properties.email',
    'properties.a',
  ]);
  expect(fieldsOf('create_contact', { properties: { a: 'x'.repeat(65_537) } })).toEqual(['properties.a']);
  const hidden = { properties: JSON.parse('{"email":"ada@example.com","__proto__":{}}') };
  expect(fieldsOf('create_contact', hidden)).toEqual(['properties.__proto__']);
  // They are counted first: each of these would be wrong.
  for (const value of ['x', {}]) {
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, n) => [`p${n}`, value]));
    expect(fieldsOf('create_contact', { properties: many })).toEqual(['properties']);
  }
  for (const contactId of ['', '../51', '5/1', '5?', 51, 'x', undefined]) {
    expect(fieldsOf('update_contact', { contactId, properties })).toEqual(['contactId']);
  }
});

test.each([
  ['a limit of ten seconds', hubspotRateLimit('TEN_SECONDLY_ROLLING'), { kind: 'rate_limited', retryAfterSeconds: 10 }],
  ['a limit of a second', hubspotRateLimit('SECONDLY'), { kind: 'rate_limited', retryAfterSeconds: 1 }],
  ['a limit of a day', hubspotRateLimit('DAILY'), { kind: 'rate_limited', retryAfterSeconds: 3_600 }],
  ['another limit', hubspotRateLimit('SOME'), { kind: 'rate_limited', retryAfterSeconds: undefined }],
  [
    'a scope that is missing',
    hubspotError(403, 'MISSING_SCOPES'),
    { kind: 'action_failed', providerCode: 'MISSING_SCOPES' },
  ],
  ['a refusal without places', hubspotError(400, 'VALIDATION_ERROR'), { kind: 'invalid_payload' }],
  ['a lock', hubspotError(423, 'LOCKED'), { kind: 'not_done', retryAfterSeconds: 2 }],
  ['an error of the server', hubspotError(500, 'INTERNAL'), { kind: 'lost' }],
  ['a page of a gateway', { status: 502, body: '<html>' }, { kind: 'lost' }],
])('%s', async (_, fail, failure) => {
  fake.next({ fail });
  await expect(perform('create_contact', { properties: { a: 'b' } })).rejects.toMatchObject(failure);
  expect(fake.journal).toHaveLength(1);
});

const inbound = hubspot.inbound!;
const url = 'https://atelier.example/api/v1/integrations/hubspot/events';
const requestOf = (body: string, headers: Record<string, string>): InboundRequest => {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {}
  return { headers, query: new URLSearchParams(), body: Buffer.from(body), json, url };
};

test('events are mapped, of apps of before and of now', () => {
  const at = Date.UTC(2026, 10, 20, 9, 30);
  const occurredAt = '2026-11-20T09:30:00.000Z';
  const change = { propertyName: 'dealstage', propertyValue: 'closedwon', objectId: 17, occurredAt: at };
  const events = [
    fake.event({ subscriptionType: 'contact.creation', objectId: 51, occurredAt: at }),
    fake.event({ subscriptionType: 'object.creation', objectTypeId: '0-1', objectId: 52, occurredAt: at }),
    fake.event({ subscriptionType: 'deal.propertyChange', ...change }),
    fake.event({ subscriptionType: 'object.propertyChange', objectTypeId: '0-3', ...change }),
    fake.event({ subscriptionType: 'contact.deletion' }),
    fake.event({ subscriptionType: 'object.creation', objectTypeId: '0-2' }),
  ];
  const notices = inbound.notices(requestOf(JSON.stringify(events), {}))!;
  const deal = { dealId: '17', property: 'dealstage', value: 'closedwon', occurredAt };
  expect(notices.map(({ trigger, data }) => [trigger, data])).toEqual([
    ['contact_created', { contactId: '51', occurredAt }],
    ['contact_created', { contactId: '52', occurredAt }],
    ['deal_updated', deal],
    ['deal_updated', deal],
    [undefined, undefined],
    [undefined, undefined],
  ]);
  for (const { trigger, data } of notices) if (trigger) hubspot.triggers[trigger]!.data.parse(data);
  expect(notices.map(({ accountId }) => accountId)).toEqual(Array(6).fill('62515'));
  expect(new Set(notices.map(({ key }) => key)).size).toBe(6);
  const again = events.map((event) => ({ ...event, attemptNumber: 3 }));
  expect(inbound.notices(requestOf(JSON.stringify(again), {}))!.map(({ key }) => key)).toEqual(
    notices.map(({ key }) => key),
  );
});

test('what is in another form, or too much, is no list of events', () => {
  const event = fake.event({ subscriptionType: 'contact.creation' });
  const wrong = [undefined, null, {}, [], [1], [{}], [{ ...event, portalId: -1 }], [{ ...event, occurredAt: 9e15 }]];
  const other = [[{ ...event, portalId: { a: 1 } }], Array(1_001).fill(event)];
  for (const json of [...wrong, ...other]) {
    expect(inbound.notices(requestOf(JSON.stringify(json) ?? '', {}))).toBeUndefined();
  }
});

test('signatures are those of version 3, within five minutes', () => {
  const secret = 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy';
  const body = '[{"eventId":1,"subscriptionId":12345,"portalId":62515,"text":"ü"}]';
  const now = 1_795_000_000_000;
  const headers = fake.sign(url, body, { secret, at: now });
  // Made by another program: printf '%s' "POST$url$body$now" | openssl dgst -sha256 -hmac $secret -binary | base64
  expect(headers['x-hubspot-signature-v3']).toBe('yLf8MxtE5UPzgXMyrcbL036m8FQCCUI3zcTFpssrNYk=');
  const verified = (given: Record<string, string>, text = body, by = secret, at = now) =>
    inbound.verify(requestOf(text, given), by, at);
  expect(verified(headers)).toBe(true);
  expect([now - 300_000, now + 300_000].map((at) => verified(headers, body, secret, at))).toEqual([true, true]);
  expect([now - 300_001, now + 300_001].map((at) => verified(headers, body, secret, at))).toEqual([false, false]);
  expect(verified(headers, `${body} `)).toBe(false);
  expect(verified(headers, body, 'another')).toBe(false);
  const signature = headers['x-hubspot-signature-v3']!;
  const forged = [
    {},
    { 'x-hubspot-signature-v3': signature },
    { 'x-hubspot-request-timestamp': String(now) },
    { ...headers, 'x-hubspot-request-timestamp': String(now + 1) },
    { ...headers, 'x-hubspot-request-timestamp': 'NaN' },
    { ...headers, 'x-hubspot-request-timestamp': '' },
    { ...headers, 'x-hubspot-signature-v3': '' },
    { ...headers, 'x-hubspot-signature-v3': `${signature}, ${signature}` },
    { ...headers, 'x-hubspot-signature-v3': signature.toLowerCase() },
    // Versions 1 and 2 prove less, and are not taken.
    {
      'x-hubspot-signature': createHmac('sha256', secret).update(body).digest('hex'),
      'x-hubspot-signature-version': 'v1',
    },
  ];
  for (const given of forged) expect([given, verified(given)]).toEqual([given, false]);
});

test('the sandbox answers the same to the same', () => {
  const seed = '0f'.repeat(32);
  for (const { sandbox, answer, example } of Object.values(hubspot.actions)) {
    expect(sandbox(example.payload, seed)).toEqual(sandbox(example.payload, seed));
    expect(answer.parse(sandbox(example.payload, seed))).toMatchObject({ id: expect.stringMatching(/^\d+$/) });
  }
});
