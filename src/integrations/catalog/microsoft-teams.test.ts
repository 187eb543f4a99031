import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ConnectedAccount, connectAccount, performChecked } from '../../../test/fakes/connected-account.ts';
import { type FakeTeams, startFakeTeams, teamsError } from '../../../test/fakes/teams.ts';
import type { InboundRequest } from '../definition/inbound.ts';
import { microsoftTeams } from './microsoft-teams.ts';
import { readResource, textOf } from './microsoft-teams-events.ts';

let fake: FakeTeams;
let connected: ConnectedAccount;

beforeAll(async () => {
  fake = await startFakeTeams();
  const settings = { TEAMS_LOGIN_BASE_URL: fake.origin, TEAMS_BASE_URL: fake.origin };
  connected = await connectAccount(microsoftTeams, fake, settings, { prefix: 'TEAMS' });
});
beforeEach(() => fake.reset());
afterAll(async () => {
  await connected.close();
  await fake.close();
});

const send = (payload: object) => performChecked(microsoftTeams, 'send_message', payload, connected.call);
const fieldsOf = (payload: unknown) =>
  microsoftTeams.actions.send_message!.payload.safeParse(payload).error?.issues.map(({ path }) => path.join('.'));

test('the account is the tenant, with its first team as the default', async () => {
  expect(connected.account).toEqual({
    id: fake.tenantId,
    name: fake.organization,
    details: { user: fake.user.id, team: fake.teamId },
  });
  expect(await microsoftTeams.test(connected.call)).toEqual({ workspace: fake.organization, user: 'Ada Lovelace' });
});

test('a message is posted to a channel of the default team, or of the one that is named', async () => {
  const answer = {
    messageId: expect.stringMatching(/^\d{13}$/),
    createdAt: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/),
  };
  expect(await send({ channelId: fake.channelId, content: 'Hello' })).toEqual(answer);
  const html = { channelId: `${fake.teamId}/${fake.channelId}`, content: '<b>Hello</b>', contentType: 'html' };
  expect(await send(html)).toEqual(answer);
  expect(fake.journal.map(({ body }) => body)).toEqual([
    { body: { contentType: 'text', content: 'Hello' } },
    { body: { contentType: 'html', content: '<b>Hello</b>' } },
  ]);
});

test('payloads that do not fit name the field', () => {
  const good = { channelId: 'general', content: 'Hello' };
  expect(fieldsOf(good)).toBeUndefined();
  expect(fieldsOf({ ...good, content: 'x'.repeat(28 * 1024) })).toBeUndefined();
  expect(fieldsOf({ ...good, content: 'ü'.repeat(14 * 1024 + 1) })).toEqual(['content']);
  expect(fieldsOf({ ...good, content: '' })).toEqual(['content']);
  expect(fieldsOf({ ...good, contentType: 'markdown' })).toEqual(['contentType']);
  const wrong = [
    '',
    '/',
    'a/b',
    '..',
    '../me',
    `${'0'.repeat(8)}/x`,
    `${fake.teamId}/..`,
    `${fake.teamId}/a/b`,
    'a?b',
    'a#b',
    'ä',
  ];
  for (const channelId of wrong)
    expect([channelId, fieldsOf({ ...good, channelId })]).toEqual([channelId, ['channelId']]);
});

test.each([
  ['an unknown channel', teamsError(404, 'ItemNotFound'), { kind: 'invalid_payload', errors: [{ path: 'channelId' }] }],
  [
    'a large message',
    teamsError(413, 'RequestEntityTooLarge'),
    { kind: 'invalid_payload', errors: [{ path: 'content' }] },
  ],
  ['a wrong request', teamsError(400, 'BadRequest'), { kind: 'invalid_payload', providerCode: 'BadRequest' }],
  ['no right', teamsError(403, 'Forbidden'), { kind: 'action_failed', providerCode: 'Forbidden' }],
  [
    'ten messages in ten seconds',
    teamsError(429, 'TooManyRequests', { 'retry-after': '10' }),
    { kind: 'rate_limited', retryAfterSeconds: 10 },
  ],
  ['throttling by another status', teamsError(403, 'ApplicationThrottled'), { kind: 'rate_limited' }],
  ['an error of the server', teamsError(500, 'InternalServerError'), { kind: 'lost' }],
  ['a service that is away', teamsError(503, 'ServiceUnavailable', { 'retry-after': '2' }), { kind: 'not_done' }],
  ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' }, body: {} }, { kind: 'action_failed' }],
  ['an error without a form', { status: 400, body: 'words' }, { kind: 'invalid_payload' }],
])('%s', async (_, answer, failure) => {
  fake.next({ fail: answer });
  const errors = 'errors' in failure ? { errors: failure.errors.map((one) => expect.objectContaining(one)) } : {};
  await expect(send({ channelId: fake.channelId, content: 'Hello' })).rejects.toMatchObject({ ...failure, ...errors });
  expect(fake.journal).toHaveLength(1);
});

test('a token that is refused is refreshed once', async () => {
  fake.grants.endAccessTokens();
  await send({ channelId: fake.channelId, content: 'Hello' });
  expect([connected.refreshes, fake.journal.map(({ endpoint }) => endpoint)]).toEqual([1, ['api', 'token', 'api']]);
});

test('resources are read strictly, for they come from outside', () => {
  const at = `teams('${fake.teamId}')/channels('19:a@thread.tacv2')/messages('161')`;
  expect(readResource(at)).toEqual({ team: fake.teamId, channel: '19:a@thread.tacv2', message: '161' });
  expect(readResource(`${at}/replies('162')`)).toMatchObject({ message: '161', reply: '162' });
  const wrong = [
    `${at}/hostedContents`,
    at.replace('161', '../../me'),
    at.replace('161', '1/2'),
    at.replace(fake.teamId, '..'),
    `chats('x')/messages('1')`,
    `https://a.example/${at}`,
    at.replace('19:a', '../a'),
    '',
  ];
  for (const resource of wrong) expect([resource, readResource(resource)]).toEqual([resource, undefined]);
});

test('a message in HTML is published as text, in linear time', () => {
  expect(textOf('<p>Hello <at id="0">Ada</at>,</p><div>1 &lt; 2&nbsp;&amp;&amp; &quot;3&quot;<br>end</div>')).toBe(
    'Hello Ada,\n1 < 2 && "3"\nend',
  );
  for (const piece of ['<', '<a', '<br', '&amp', '<br ']) textOf(piece.repeat(500_000));
});

const requestOf = (json: unknown, query = ''): InboundRequest => ({
  headers: {},
  query: new URLSearchParams(query),
  body: Buffer.from(JSON.stringify(json) ?? ''),
  json,
  url: 'https://atelier.example/api/v1/integrations/microsoft-teams/events',
});
const inbound = microsoftTeams.inbound!;

test('notifications are proven by the secret of their subscription, each of them', async () => {
  const push = microsoftTeams.push!;
  fake.validates = false;
  const [closed, resource] = await push.resources!(connected.call);
  expect(closed).toBe(`/teams/${fake.teamId}/channels/19:closed@thread.tacv2/messages`);
  expect(resource).toBe(`/teams/${fake.teamId}/channels/${fake.channelId}/messages`);
  const endsAt = new Date(Date.now() + push.lastsSeconds * 1_000);
  const address = { url: 'http://127.0.0.1:9/', lifecycleUrl: 'http://127.0.0.1:9/', clientState: 'a secret', endsAt };
  const made = await push.create({ ...address, resource: resource! }, connected.call);
  expect(fake.subscriptions.get(made.id)).toMatchObject({
    clientState: 'a secret',
    expirationDateTime: endsAt.toISOString(),
  });

  const posted = fake.post({ text: '<p>Hello</p>', html: true, user: 'somebody' });
  const value = [...fake.notificationsOf(posted), ...fake.notificationsOf(posted, 'updated')];
  const request = requestOf({ value });
  const [created, updated] = inbound.notices(request)!;
  expect(created).toMatchObject({
    accountId: fake.tenantId,
    subscriptionId: made.id,
    clientState: 'a secret',
    trigger: 'message_received',
    key: `${posted}:created`,
  });
  expect([updated!.trigger, updated!.key]).toEqual([undefined, `${posted}:updated`]);
  expect(inbound.verify(request, 'a secret', 0)).toBe(true);
  expect(inbound.verify(request, 'another', 0)).toBe(false);
  for (const clientState of ['', undefined, null, 'another']) {
    const forged = requestOf({ value: [...value, { ...value[0], clientState }] });
    expect([clientState, inbound.verify(forged, 'a secret', 0)]).toEqual([clientState, false]);
  }

  const data = await inbound.fetch!(created!.reference!, connected.call);
  const channel = `${fake.teamId}/${fake.channelId}`;
  expect(data).toEqual({ channel, user: 'somebody', text: 'Hello', ts: created!.reference!.message });
  expect(microsoftTeams.triggers.message_received!.data.safeParse(data).success).toBe(true);
  const own = inbound.notices(
    requestOf({ value: fake.notificationsOf(fake.post({ text: 'x', user: fake.user.id })) }),
  )!;
  expect(await inbound.fetch!(own[0]!.reference!, connected.call)).toBeUndefined();
  const gone = { ...created!.reference!, message: '1' };
  expect(await inbound.fetch!(gone, connected.call)).toBeUndefined();
  fake.journal.length = 0;
  for (const message of ['../1', '1/../2', '']) {
    expect(await inbound.fetch!({ ...created!.reference!, message }, connected.call)).toBeUndefined();
  }
  expect(fake.journal).toEqual([]);

  const later = new Date(Date.now() + 3_600_000);
  expect(await push.renew(made.id, later, connected.call)).toEqual({ endsAt: later });
  await push.remove(made.id, connected.call);
  await push.remove(made.id, connected.call);
  await expect(push.renew(made.id, later, connected.call)).rejects.toMatchObject({ providerCode: 'gone' });
  await expect(push.renew('../me', later, connected.call)).rejects.toMatchObject({ providerCode: 'gone' });
});

test('messages that were missed are listed with the keys of their notifications, page by page', async () => {
  const { teamId, channelId, tenantId } = fake;
  const resource = `/teams/${teamId}/channels/${channelId}/messages`;
  const before = fake.post({ text: 'before' });
  const since = new Date(Number(/messages\('(\d+)'\)$/.exec(before)![1]));
  const posted = Array.from({ length: 5 }, (_, at) => fake.post({ text: `${at}` }));
  fake.journal.length = 0;
  const found = await microsoftTeams.push!.missed!(resource, since, connected.call);
  expect(found.map(({ key }) => key)).toEqual(posted.map((one) => `${one}:created`));
  const about = { subscriptionId: 's', clientState: 'c', tenantId, changeType: 'created' };
  const references = inbound.notices(requestOf({ value: posted.map((one) => ({ ...about, resource: one })) }))!;
  expect(found).toEqual(references.map(({ key, trigger, reference }) => ({ key, trigger, reference })));
  expect(fake.journal).toHaveLength(3);
});

test('lifecycle notifications say what is to be done', () => {
  const notificationOf = (lifecycleEvent: string) => ({
    lifecycleEvent,
    subscriptionId: 's',
    clientState: 'c',
    tenantId: 't',
  });
  const words = ['reauthorizationRequired', 'subscriptionRemoved', 'missed', 'somethingNew'];
  const notices = inbound.notices(requestOf({ value: words.map(notificationOf) }))!;
  expect(notices.map(({ lifecycle }) => lifecycle)).toEqual(['renew', 'removed', 'missed', undefined]);
  expect(new Set(notices.map(({ key }) => key)).size).toBe(4);
});

test('a handshake is answered with its token, if that can be one', () => {
  const answer = (token: string) =>
    inbound.handshake!.answer(requestOf(undefined, `validationToken=${encodeURIComponent(token)}`));
  expect(answer('Validation: a b+c%20')).toEqual({ text: 'Validation: a b+c%20' });
  for (const token of ['', 'x'.repeat(4_097), 'a\r\nb', 'ü']) expect(answer(token)).toBeUndefined();
  expect(inbound.handshake!.answer(requestOf({}))).toBeUndefined();
});

test('what is in another form, or too much, is no notification', () => {
  const item = { subscriptionId: 's', resource: 'r', changeType: 'created' };
  const wrong = [
    { value: [{ ...item, subscriptionId: 's\0' }] },
    undefined,
    null,
    [],
    {},
    { value: [] },
    { value: [1] },
    { value: [{}] },
    { value: Array(1_001).fill(item) },
  ];
  for (const json of wrong) {
    expect(inbound.notices(requestOf(json))).toBeUndefined();
    expect(inbound.verify(requestOf(json), '', 0)).toBe(false);
  }
});

test('the sandbox answers the same to the same', () => {
  const { sandbox, answer } = microsoftTeams.actions.send_message!;
  const seed = '5e'.repeat(32);
  expect(sandbox({}, seed)).toEqual(sandbox({}, seed));
  expect(answer.parse(sandbox({}, seed))).toEqual({
    messageId: expect.stringMatching(/^17\d{11}$/),
    createdAt: expect.any(String),
  });
});
