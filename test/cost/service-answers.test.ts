import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { addRedirect } from '../../src/connections/redirects.ts';
import { catalog } from '../../src/integrations/catalog.ts';
import { services } from '../../src/scheduling/core/calendar-status.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { catalogue } from '../../src/tools/catalogue.ts';
import { maxMessageStructures } from '../../src/tools/limits.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { startFakeGoogle } from '../fakes/google.ts';
import { startFakeGoogleCalendar } from '../fakes/google-calendar.ts';
import { liveIntegrations } from '../fakes/live-integrations.ts';
import { fakeMcpServer, fakeTool } from '../fakes/mcp-server.ts';
import { startFakeMicrosoftCalendar } from '../fakes/microsoft-calendar.ts';
import type { FakeApp } from '../fakes/oauth/oauth-app.ts';
import { startFakeOAuth } from '../fakes/oauth/oauth-server.ts';
import { type FakeTeams, type TeamsSubscription, teamsError } from '../fakes/teams.ts';
import type { FakeUnipile } from '../fakes/unipile.ts';
import { visit } from '../integrations/connect-in-sandbox.ts';
import { begin } from '../integrations/consents.ts';
import { runUntil } from '../integrations/follow-runs.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { type HostileAnswer, type HostileFront, hostileAnswers, openFront } from './hostile-front.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { manyMembers } from './worst-bodies.ts';

// Answers of megabytes of every service: more than they take alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
let live: ApiClient;
const fronts = new Map<string, HostileFront>();
const closing: (() => Promise<unknown>)[] = [];
const apps = new Map<string, FakeApp>();
let oauth: Record<(typeof services)[number], Awaited<ReturnType<typeof startFakeOAuth>>>;
let mcp: Awaited<ReturnType<typeof fakeMcpServer>>;
let model: Awaited<ReturnType<typeof startFakeGoogle>>;
const redirectUrl = 'https://app.example.com/integrated';

async function closable<One extends { close(): Promise<unknown> }>(starting: Promise<One>): Promise<One> {
  const one = await starting;
  closing.push(() => one.close());
  return one;
}

async function frontOf(name: string, target: string): Promise<string> {
  const front = await closable(openFront(target));
  fronts.set(name, front);
  return front.origin;
}

/** Variables that lead to fronts: one for each service that is the base of an API, and not where tokens are given. */
async function integrationVariables(): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const one of liveIntegrations) {
    const fake = await closable(one.start());
    apps.set(one.integration.id, fake);
    // The product is reached at another address than the one that it publishes.
    if (one.integration.id === 'microsoft-teams') (fake as FakeTeams).validates = false;
    const origin = await frontOf(one.integration.id, fake.origin);
    for (const [name, value] of Object.entries(one.variables(fake))) {
      all[name] = name.includes('LOGIN') ? value : value.replace(fake.origin, origin);
    }
  }
  return all;
}

async function calendarVariables(): Promise<Record<string, string>> {
  const [google, microsoft] = await Promise.all([
    closable(startFakeOAuth({ like: 'google' })),
    closable(startFakeOAuth({ like: 'microsoft' })),
  ]);
  oauth = { google, microsoft };
  const fakes = {
    google: await closable(startFakeGoogleCalendar()),
    microsoft: await closable(startFakeMicrosoftCalendar()),
  };
  for (const name of services) fakes[name].accepts = (token) => oauth[name].grants.accountOf(token) !== undefined;
  const tokens = await frontOf('tokens', new URL(google.tokenUrl).origin);
  return {
    GOOGLE_CALENDAR_CLIENT_ID: google.clientId,
    GOOGLE_CALENDAR_CLIENT_SECRET: google.clientSecret,
    GOOGLE_CALENDAR_AUTH_URL: google.authorizeUrl,
    GOOGLE_CALENDAR_REVOKE_URL: google.revokeUrl,
    GOOGLE_CALENDAR_TOKEN_URL: tokens + new URL(google.tokenUrl).pathname,
    GOOGLE_CALENDAR_BASE_URL: await frontOf('calendar of google', fakes.google.origin),
    MICROSOFT_CALENDAR_CLIENT_ID: microsoft.clientId,
    MICROSOFT_CALENDAR_CLIENT_SECRET: microsoft.clientSecret,
    MICROSOFT_CALENDAR_AUTH_URL: microsoft.authorizeUrl,
    MICROSOFT_CALENDAR_TOKEN_URL: microsoft.tokenUrl,
    MICROSOFT_CALENDAR_BASE_URL: `${await frontOf('calendar of microsoft', fakes.microsoft.origin)}/v1.0`,
    CALENDAR_TIME_SCALE: '0.001',
    CALENDAR_TIMEOUT_SECONDS: '20',
  };
}

beforeAll(async () => {
  model = await closable(startFakeGoogle());
  mcp = await closable(fakeMcpServer());
  for (const name of ['images', 'receivers', 'pages']) await frontOf(name, 'http://127.0.0.1:1');
  product = await startMeasured({
    ...(await integrationVariables()),
    ...(await calendarVariables()),
    GOOGLE_API_KEY: model.apiKey,
    GOOGLE_BASE_URL: model.baseUrl,
    EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
    DELIVERY_TIME_SCALE: '0.05',
  });
  await addRedirect(product.database, product.organizationId, redirectUrl, true);
  live = apiClient(product.process.api, product.liveKey);
});
afterAll(async () => {
  await product.close();
  await Promise.all(closing.map((close) => close()));
});

const asker = (key: string) => (method: string, path: string, body?: object) => {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': randomUUID(),
  };
  return exchange(product.process.api, { method, path, headers, body: body && JSON.stringify(body) });
};

/** Has one service give each of the hostile answers. @param ask makes the product ask it, and waits until it did */
async function suffer(
  name: string,
  ask: () => Promise<{ status?: number }>,
  more: Record<string, HostileAnswer> = {},
): Promise<void> {
  const front = fronts.get(name)!;
  await ask();
  await product.walk.sendAll(
    Object.entries({ ...hostileAnswers, ...more }).map(([answer, hostile]) => ({
      input: { door: `an answer of ${name}`, name: answer },
      settles: true,
      async send() {
        front.arm(hostile);
        const outcome = await ask();
        await until(`${name} was asked`, async () => front.answered > 0);
        return outcome;
      },
    })),
  );
  front.arm(undefined);
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
}

test('each integration and calendar service has its answers here', () => {
  expect(liveIntegrations.map(({ integration }) => integration)).toEqual(catalog);
  expect(Object.keys(oauth)).toEqual([...services]);
});

/** How a server of tools is asked that no front can stand before. */
const otherServers: Record<string, string> = {
  filesystem: 'a program of ours, in a process of its own',
  memory: 'a program of ours, in a process of its own',
  sqlite: 'a program of ours, in a process of its own',
  postgres: 'a client of ours over TLS, with limits on rows and bytes',
  'web-search': 'a client of ours, or a remote server as the others',
};

test('notifications, lists and results of servers of tools', async () => {
  const remote = Object.values(catalogue).filter(({ live: { kind } }) => kind === 'remote');
  expect([...remote.map(({ id }) => id), ...Object.keys(otherServers)].toSorted()).toEqual(
    Object.keys(catalogue).toSorted(),
  );
  const ask = asker(product.liveKey);
  const configuration = { url: mcp.url, secrets: { token: 'x' } };
  expect((await ask('PUT', '/api/v1/tools/github', configuration)).status).toBe(200);
  const message = { messages: [{ role: 'user', content: 'Go.' }], model: 'gemini-3.8-flash', mcpServers: ['github'] };
  const call = () => {
    model.next({ say: { text: '', calls: [{ name: 'github_echo', args: {} }] } });
    return ask('POST', '/api/chat', message);
  };
  expect((await call()).status).toBe(200);
  const send = (name: string, sent = call) =>
    product.walk.send({ door: 'an answer of a server of tools', name }, sent, { settles: true });

  const note = (method: string, params: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`;
  const floods = {
    'notifications of progress': note('notifications/progress', { progressToken: 0, progress: 1 }),
    'notifications of a log': note('notifications/message', { level: 'info', data: 'x' }),
    'notifications that its tools changed': note('notifications/tools/list_changed', {}),
    comments: ': x\n\n',
  };
  for (const [name, one] of Object.entries(floods)) {
    mcp.instead = (_, response, { method, id }) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(one.repeat(Math.floor(3_900_000 / one.length)));
      const result = { content: [{ type: 'text', text: 'done' }] };
      return Boolean(response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`));
    };
    await send(name);
  }
  for (const [name, { status = 200, headers = {}, body = '', isEndless }] of Object.entries(hostileAnswers)) {
    if (isEndless) continue;
    mcp.instead = (_, response, { method }) =>
      method === 'tools/call' && Boolean(response.writeHead(status, headers).end(body));
    await send(name);
  }
  mcp.instead = undefined;
  mcp.call = () => ({ content: Array.from({ length: 20_000 }, () => ({ type: 'text', text: 'x' })) });
  await send('a result of 20,000 parts');
  const maxCount = maxMessageStructures - 100;
  mcp.call = () => ({ content: Array.from({ length: maxCount / 3 }, () => ({ type: 'text', text: 'x' })) });
  await send('a result of the most parts');
  const members = JSON.parse(manyMembers(maxCount * 12));
  mcp.call = () => ({ content: [{ type: 'text', text: 'x' }], structuredContent: members });
  await send('a result of the most members');
  mcp.call = () => ({ content: [{ type: 'text', text: 'x\n'.repeat(1_500_000) }] });
  await send('a result of 3 MB');
  mcp.tools = Array.from({ length: 10_000 }, (_, index) =>
    fakeTool(`tool${index}`, { description: 'x '.repeat(2_000) }),
  );
  expect((await ask('PUT', '/api/v1/tools/github', configuration)).status).toBe(200);
  await send('a list of 10,000 tools', () => ask('POST', '/api/chat', message));
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});

/** Salesforce names the address of its API itself when it gives a token, so no front stands before it. */
const reachable = liveIntegrations.filter(({ integration: { id } }) => id !== 'salesforce');

test.each(reachable.map((one) => [one.integration.id, one] as const))('answers of %s', async (id, one) => {
  const fake = apps.get(id)!;
  const { authUrl } = await begin(live, id, { redirectUrl });
  const back = 'link' in fake ? await (fake as unknown as FakeUnipile).link(authUrl) : await fake.consent(authUrl);
  await visit(back, product.process.api);
  const [action, { payload }] = Object.entries(one.actions)[0]!;
  const ask = asker(product.liveKey);
  await suffer(id, () => ask('POST', `/api/v1/integrations/${id}/actions/${action}`, payload() as object));
});

test.each([...services])('answers of the calendar of %s', async (service) => {
  const scene = sceneOf(live);
  const { host } = await scene.offer();
  const { authUrl } = (await scene.request('POST', 'calendars/connect', { service, hostId: host })).body.data;
  await visit(await oauth[service].consent(authUrl, { account: 'ada@example.com' }), product.process.api);
  const { calendars } = await scene.get('calendars');
  const { id } = calendars.find((one: { hostId: string }) => one.hostId === host);
  await suffer(`calendar of ${service}`, () =>
    asker(product.liveKey)('POST', `/api/v1/scheduling/calendars/${id}/sync`),
  );
});

test('answers where tokens are given', async () => {
  const scene = sceneOf(live);
  const { host } = await scene.offer();
  await suffer('tokens', async () => {
    const { authUrl } = (await scene.request('POST', 'calendars/connect', { service: 'google', hostId: host })).body
      .data;
    const back = await oauth.google.consent(authUrl, { account: 'ada@example.com' });
    return visit(back, product.process.api);
  });
});

test('answers to refreshes of tokens', async () => {
  const scene = sceneOf(live);
  const { host } = await scene.offer();
  const { authUrl } = (await scene.request('POST', 'calendars/connect', { service: 'google', hostId: host })).body.data;
  await visit(await oauth.google.consent(authUrl, { account: 'ada@example.com' }), product.process.api);
  const { calendars } = await scene.get('calendars');
  const { id } = calendars.find((one: { hostId: string }) => one.hostId === host);
  await suffer('tokens', () => {
    oauth.google.grants.endAccessTokens();
    return asker(product.liveKey)('POST', `/api/v1/scheduling/calendars/${id}/sync`);
  });
});

test('answers of servers of images', async () => {
  const imageUrl = `${fronts.get('images')!.origin}/a.png`;
  await suffer('images', () => asker(product.testKey)('POST', '/api/studio/upscale', { imageUrl }));
});

test('answers of receivers of webhooks', async () => {
  const url = `${fronts.get('receivers')!.origin}/hook`;
  const { id } = (await live.post('/api/v1/webhooks', { name: 'Hostile', url, events: ['*'] })).body.data;
  await suffer('receivers', () => asker(product.liveKey)('POST', `/api/v1/webhooks/${id}/test`));
});

test('answers of servers that steps of type http ask', async () => {
  const ask = asker(product.liveKey);
  // They differ at their end, and the forms in which an answer can repeat them are all different.
  const secrets = Array.from({ length: 10 }, (_, index) => `${'a'.repeat(60)}é"${index}`);
  for (const [index, value] of secrets.entries()) {
    expect((await ask('PUT', `/api/v1/secrets/COST_${index}`, { value })).status).toBe(200);
  }
  const secretHeaders = Object.fromEntries(secrets.map((_, index) => [`x-cost-${index}`, `COST_${index}`]));
  const step = {
    id: 'ask',
    type: 'http',
    url: `${fronts.get('pages')!.origin}/page`,
    secretHeaders,
    retry: { maxAttempts: 1 },
  };
  const { id } = (await live.post('/api/v1/workflows', { name: 'Asks', steps: [step] })).body.data;
  const execute = () => ask('POST', `/api/v1/workflows/${id}/execute`, { input: null });
  const texts = Array.from({ length: 39_000 }, (_, index) => secrets[index % secrets.length]!);
  const repeated = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(texts) };
  const long = { headers: { 'content-type': 'text/plain' }, body: 'a'.repeat(4_000_000) };
  await suffer('pages', execute, { 'its secrets in 39,000 texts': repeated, 'a text that begins like a secret': long });
});

/** How many replies messages have whose replies are listed in one page. */
const missedReplies: Record<string, { perPage?: number; counts: number[] }> = {
  'the most replies that were missed': { counts: [...Array(9).fill(50), 500] },
  'the most replies that were missed, in larger pages than were asked for': {
    perPage: 200,
    counts: [200, 200, 100, 600],
  },
};

test('lists of replies that microsoft-teams could not push', async () => {
  const teams = apps.get('microsoft-teams') as FakeTeams;
  teams.messagesPerPage = 50;
  teams.linkOrigin = fronts.get('microsoft-teams')!.origin;
  // The messages themselves are fetched one by one, and each is an event like any other.
  teams.withheld = teamsError(429, 'TooManyRequests', { 'retry-after': '3600' });
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  closing.push(() => connection.close());
  const { authUrl } = await begin(live, 'microsoft-teams', { redirectUrl });
  await visit(await teams.consent(authUrl), product.process.api);
  const { pool } = product.database;
  const find = 'select id from integration_connection where organization_id = $1 and integration = $2';
  const { id } = (await pool.query(find, [organizationIds.parse(product.organizationId), 'microsoft-teams'])).rows[0];
  const hook = { event: 'message_received', url: 'https://hooks.example.com/x' };
  expect((await live.post('/api/v1/integrations/microsoft-teams/webhooks', hook)).status).toBe(201);
  const followed = async () =>
    (await pool.query('select * from integration_push where connection_id = $1', [id])).rows[0];
  await runUntil(connection, id, 'it is subscribed', async () => (await followed()) !== undefined);

  const text = 'x'.repeat(28_000);
  for (const [name, { perPage, counts }] of Object.entries(missedReplies)) {
    teams.repliesPerPage = perPage;
    const send = async () => {
      teams.messages.clear();
      for (const count of counts) {
        const message = teams.post({ text });
        for (let reply = 0; reply < count; reply++) teams.post({ text, replyTo: message });
      }
      const [{ id: subscriptionId, clientState }] = [...teams.subscriptions.values()] as [TeamsSubscription];
      const notice = { subscriptionId, clientState, tenantId: teams.tenantId, lifecycleEvent: 'missed' };
      const { status } = await teams.send(`${product.process.api}/api/v1/integrations/microsoft-teams/events`, [
        notice,
      ]);
      await runUntil(connection, id, 'what was missed is listed', async () => (await followed()).missed_at === null);
      return { status };
    };
    // What waits to be fetched counts for later lists.
    const end = async () => {
      const forget = 'update integration_inbound_event set reference = null where connection_id = $1';
      await pool.query(forget, [id]);
    };
    await product.walk.send({ door: 'an answer of microsoft-teams', name }, send, { settles: true, end });
  }
  const listed = 'select count(*)::int as count from integration_inbound_event where connection_id = $1';
  expect((await pool.query(listed, [id])).rows[0].count).toBeGreaterThanOrEqual(960 + 1_004);
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});
