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
beforeEach(() => {
  fake.reset();
  fake.linkOrigin = undefined;
  fake.messagesPerPage = 2;
  fake.repliesPerPage = undefined;
});
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
  const [closed, resource] = (await push.resources!(connected.call)).resources;
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

test('the channels of all pages are followed, up to 500', async () => {
  const listed = () => microsoftTeams.push!.resources!(connected.call);
  const others = fake.otherChannels;
  const channelsOf = (count: number) => Array.from({ length: count }, (_, at) => ({ id: `19:c${at}@thread.tacv2` }));
  fake.otherChannels = channelsOf(499);
  const all = await listed();
  expect([all.resources.length, all.exceeded, fake.journal.length]).toEqual([500, undefined, 10]);
  expect(all.resources.at(-1)).toBe(`/teams/${fake.teamId}/channels/${fake.channelId}/messages`);
  fake.otherChannels = channelsOf(10_000);
  fake.journal.length = 0;
  const { resources, exceeded } = await listed();
  expect([resources.length, exceeded?.providerCode, fake.journal.length]).toEqual([500, 'too_many_channels', 11]);
  // The access token goes to the provider's own host alone.
  fake.linkOrigin = 'https://graph.example.com';
  await expect(listed()).rejects.toMatchObject({ kind: 'lost' });
  fake.linkOrigin = undefined;
  // A list without an end.
  fake.otherChannels = Array.from({ length: 10_000 }, () => ({ id: 'no channel/' }));
  fake.journal.length = 0;
  expect(await listed()).toMatchObject({ resources: [], exceeded: { providerCode: 'too_many_channels' } });
  expect(fake.journal.length).toBe(100);
  fake.otherChannels = others;
});

const { begin, read } = microsoftTeams.push!.missed!;
const missed = (cursor: string) =>
  read(`/teams/${fake.teamId}/channels/${fake.channelId}/messages`, cursor, connected.call);
type MissedPage = Awaited<ReturnType<typeof missed>>;
const sinceOf = (posted: string) => new Date(Number(/\('(\d+)'\)$/.exec(posted)![1]));
/** What the notifications of messages would be. */
const noticesOf = (posted: string[]) => {
  const about = { subscriptionId: 's', clientState: 'c', tenantId: fake.tenantId, changeType: 'created' };
  const notices = inbound.notices(requestOf({ value: posted.map((resource) => ({ ...about, resource })) }))!;
  return notices.map(({ key, trigger, reference }) => ({ key, trigger, reference }));
};

test('messages that were missed are listed with the keys of their notifications, page by page', async () => {
  const since = sinceOf(fake.post({ text: 'before' }));
  const posted = Array.from({ length: 5 }, (_, at) => fake.post({ text: `${at}` }));
  fake.journal.length = 0;
  // After each page of messages, their replies.
  const first = await missed(begin(since));
  const second = await missed((await missed(first.cursor)).cursor);
  // Not of this list: the next one begins with it.
  const later = fake.post({ text: 'later' });
  const next = (await missed(second.cursor)).cursor;
  const third = await missed(next);
  expect([first, second, third].map(({ events, more }) => [events.length, more])).toEqual([
    [2, true],
    [2, true],
    [1, true],
  ]);
  const end = await missed(third.cursor);
  expect([end.events, end.more, fake.journal.length]).toEqual([[], false, 3 + 5]);
  const rest = await missed(end.cursor);
  expect(rest.events.map(({ key }) => key)).toEqual([`${later}:created`]);
  const found = [...first.events, ...second.events, ...third.events];
  expect(found).toEqual(noticesOf(posted));
  // A place that Graph has forgotten is the beginning of the list.
  fake.laterPages.push(teamsError(410, 'resyncRequired'));
  expect((await missed(next)).events).toEqual(first.events);
  fake.laterPages.push(teamsError(503, 'ServiceUnavailable'));
  await expect(missed(next)).rejects.toMatchObject({ kind: 'lost' });
  fake.linkOrigin = 'https://graph.example.com';
  await expect(missed(begin(since))).rejects.toMatchObject({ kind: 'lost' });
});

test('missed replies are listed too, to earlier messages as well, with a bounded number of requests in each page', async () => {
  fake.messagesPerPage = 50;
  const [old, quiet] = [fake.post({ text: 'old' }), fake.post({ text: 'quiet' })];
  const since = sinceOf(fake.post({ text: 'before', replyTo: old }));
  const replies = Array.from({ length: 120 }, (_, at) => fake.post({ text: `${at}`, replyTo: old }));
  const posted = Array.from({ length: 12 }, (_, at) => fake.post({ text: `new ${at}` }));
  replies.push(fake.post({ text: 'to a new one', replyTo: posted[11]! }));
  const first = await missed(begin(since));
  expect(first.events).toEqual(noticesOf(posted));
  // Deleted since.
  fake.messages.delete(String(sinceOf(posted[0]!).getTime()));
  const found: MissedPage['events'] = [];
  const requests: number[] = [];
  for (let page: MissedPage = first; page.more; found.push(...page.events)) {
    fake.journal.length = 0;
    page = await missed(page.cursor);
    requests.push(fake.journal.length);
  }
  expect(requests).toEqual([10, 5]);
  const keysOf = (events: { key: string }[]) => events.map(({ key }) => key).toSorted();
  expect(keysOf(found)).toEqual(keysOf(noticesOf(replies)));
  expect(found.some(({ key }) => key.startsWith(quiet))).toBe(false);
  const reply = found.find(({ key }) => key === `${replies.at(-1)}:created`)!;
  expect(await inbound.fetch!(reply.reference, connected.call)).toMatchObject({ text: 'to a new one' });
});

test('of a message with very many replies the latest are listed', async () => {
  const old = fake.post({ text: 'old' });
  const since = sinceOf(old);
  const replies = Array.from({ length: 501 }, () => fake.post({ text: 'x', replyTo: old }));
  const { cursor, more } = await missed(begin(since));
  const page = await missed(cursor);
  expect([more, page.more, page.events.length]).toEqual([true, false, 500]);
  expect(page.events.map(({ key }) => key)).not.toContain(`${replies[0]}:created`);
});

test('a page of missed replies has at most a thousand, however many the answers have', async () => {
  fake.messagesPerPage = 50;
  fake.repliesPerPage = 200;
  const since = sinceOf(fake.post({ text: 'before' }));
  for (const count of [200, 200, 100, 501, 1]) {
    const message = fake.post({ text: 'new' });
    for (let reply = 0; reply < count; reply++) fake.post({ text: 'x', replyTo: message });
  }
  const first = await missed((await missed(begin(since))).cursor);
  const second = await missed(first.cursor);
  expect([first, second].map(({ events, more }) => [events.length, more])).toEqual([
    [1_000, true],
    [1, false],
  ]);
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
