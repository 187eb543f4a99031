import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { clock } from '../../src/platform/clock.ts';
import { generateKey, generateToken } from '../../src/tenancy/key-format.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';
import { advanceToMinute } from './rate-windows.ts';

// A product of its own: tests lock whole tables.
let product: Product;
let api: string;

beforeAll(async () => {
  product = await openProduct();
  api = (await product.serve()).api;
});
afterAll(() => product.close());

async function clients(limits: { rateMinute?: number; rateDay?: number }, variant: 'A' | 'B' = 'A') {
  const { id } = await createOrganization(product.database, { name: 'Limited', plan: 'enterprise', ...limits });
  const issue = async (environment: string) =>
    apiClient(api, (await createKey(product.database, { organizationId: id, environment, variant })).key);
  return { test: await issue('test'), live: await issue('live') };
}

const rateOf = (headers: Headers) =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));

const spend = (client: ApiClient, times: number) =>
  Promise.all(Array.from({ length: times }, () => client.get('/api/v1/health')));

/** An answer without what differs from request to request, or from second to second. */
const lasting = ({ status, headers, body }: Answer) => {
  const { requestId: _, retryAfter: __, ...error } = body.error;
  const changing = ['date', 'x-request-id', 'x-correlation-id', 'retry-after'];
  const kept = [...headers].filter(([name]) => !changing.includes(name));
  return { status, names: [...headers.keys()], headers: kept, body: { ...body, error } };
};

describe('a refusal', () => {
  test.each(['A', 'B', 'C'])('is the same before the routes and in them, in variant %s', async (variant) => {
    await advanceToMinute(product);
    const { test: limited } = await clients({ rateDay: 1 });
    await limited.get('/api/v1/health');
    const unknown = apiClient(api, generateKey('test'));
    await unknown.get('/api/v1/workflows');
    for (const client of [limited, unknown, apiClient(api), apiClient(api, 'sk_test_nonsense')]) {
      const headers = { 'x-api-variant': variant, 'x-correlation-id': 'mine' };
      const early = await client.get('/api/v1/workflows?limit=1', headers);
      // A path with an escape is left to the routes.
      const late = await client.get('/api/v1/%77orkflows?limit=1', headers);
      expect(lasting(early)).toEqual(lasting(late));
      expect([401, 429]).toContain(early.status);
      for (const { headers: answered } of [early, late]) expect(answered.get('x-correlation-id')).toBe('mine');
      expect(early.body.error.requestId ?? variant).toBe(variant === 'B' ? 'B' : early.headers.get('x-request-id'));
    }
  });
});

test.each(['A', 'B', 'C'])(
  'an id that nothing can have gets the answer of the routes, in variant %s',
  async (variant) => {
    await advanceToMinute(product);
    const { test: client, live } = await clients({ rateMinute: 10_000 });
    // The first request of a key asks the database.
    for (const known of [client, live]) await known.get('/api/v1/health');
    const used = async () => rateOf((await client.get('/api/v1/health')).headers)[1]!;
    const ids = ['workflows/nonsense', 'workflows/42/schedule', 'runs/wf_1', 'runs/-/input', 'webhooks/nonsense'];
    for (const path of ids) {
      const headers = { 'x-api-variant': variant };
      const before = await used();
      const early = await client.get(`/api/v1/${path}`, headers);
      // A path with an escape is left to the routes.
      const late = await client.get(`/api/v1/${path.replace('w', '%77').replace('r', '%72')}`, headers);
      const [{ headers: one, ...rest }, { headers: other, ...others }] = [lasting(early), lasting(late)];
      expect(rest).toEqual(others);
      const counted = ([name]: string[]) => name !== 'x-ratelimit-remaining';
      expect(one.filter(counted)).toEqual(other.filter(counted));
      expect(early.status).toBe(variant === 'C' ? 400 : 404);
      // Each of them has been counted.
      expect(await used()).toBe(before - 3);
    }
  },
);

describe('a plan’s limits', () => {
  test('let exactly as many requests through as they say, however they arrive', async () => {
    await advanceToMinute(product);
    const { test: client } = await clients({ rateMinute: 60 });
    const answers = await spend(client, 200);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(140);
    const remaining = answers.filter(({ status }) => status === 200).map(({ headers }) => rateOf(headers)[1]);
    expect(remaining.toSorted((a, b) => a! - b!)).toEqual(Array.from({ length: 60 }, (_, index) => index));
  });

  test('say in every answer what is left and when it begins anew', async () => {
    await advanceToMinute(product);
    const { test: client } = await clients({ rateMinute: 2 });
    const now = clock.now() / 1000;
    const { headers } = await client.get('/api/v1/workflows');
    const [limit, remaining, reset] = rateOf(headers);
    expect([limit, remaining]).toEqual([2, 1]);
    expect(Number.isInteger(reset) && reset! > now && reset! <= now + 61).toBe(true);
    const missing = await client.get('/api/v1/workflows/nothing');
    expect([missing.status, rateOf(missing.headers)[1]]).toEqual([404, 0]);
    const refused = await client.get('/api/v1/workflows');
    expect(refused).toMatchObject({
      status: 429,
      body: {
        success: false,
        error: { code: 'rate_limit_exceeded', details: { limit: 2, resetAt: reset, window: 'minute' } },
      },
    });
    expect(refused.body.error.message).toBe('Too many requests: the limit is 2 requests per minute.');
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter >= 1 && retryAfter <= reset! - now + 1).toBe(true);
  });

  test('speak of the day where the day is tighter, and a refused request counts in neither window', async () => {
    await advanceToMinute(product);
    const { test: client } = await clients({ rateMinute: 50, rateDay: 3 });
    const answers = [];
    for (let sent = 0; sent < 6; sent++) answers.push(await client.get('/api/v1/health'));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429, 429]);
    const midnight = Math.floor(clock.now() / 86_400_000 + 1) * 86_400;
    expect(answers.map(({ headers }) => rateOf(headers))).toEqual(
      [2, 1, 0, 0, 0, 0].map((remaining) => [3, remaining, midnight]),
    );
  });

  test('are an environment’s own', async () => {
    await advanceToMinute(product);
    const { test: client, live } = await clients({ rateMinute: 1 });
    expect((await spend(client, 2)).map(({ status }) => status).toSorted()).toEqual([200, 429]);
    expect((await live.get('/api/v1/health')).status).toBe(200);
  });

  test('in dialect B use its envelope, with the seconds to wait', async () => {
    await advanceToMinute(product);
    const { test: client } = await clients({ rateMinute: 1 }, 'B');
    await client.get('/api/v1/health');
    const refused = await client.get('/api/v1/health');
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: expect.any(String),
        retryAfter: Number(refused.headers.get('retry-after')),
      },
    });
  });
});

test('an address whose keys are refused too often must wait, and its good key still gets in', async () => {
  const one = await product.serve();
  const { testKey } = await product.createTenant();
  const wrong = apiClient(one.api, 'sk_test_wrong');
  const answers = await spend(wrong, 105);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(100);
  const limited = answers.filter(({ status }) => status === 429);
  expect(limited).toHaveLength(5);
  // No organization's windows are meant.
  expect(limited.filter(({ headers }) => headers.has('x-ratelimit-limit') || !headers.has('retry-after'))).toEqual([]);
  expect((await apiClient(one.api, testKey).get('/api/v1/health')).status).toBe(200);
  const elsewhere = await wrong.get('/api/v1/health', { 'x-forwarded-for': '203.0.113.77' });
  expect(elsewhere.status).toBe(401);
});

describe('from an address with too many failed authentications, few look-ups of unknown', () => {
  // Each case has an address of its own, whose minute begins with it.
  const headers = { 'x-forwarded-for': '', accept: 'application/json' };
  let cases = 0;
  const random = () => randomBytes(32).toString('base64url');
  const anyone = () => apiClient(api);

  test.each<[string, string, () => Promise<Answer>]>([
    ['keys', 'api_key', () => apiClient(api, generateKey('test')).get('/api/v1/health', headers)],
    ['tokens', 'browser_token', () => apiClient(api, generateToken('test')).get('/api/v1/runs/x', headers)],
    [
      'secrets of triggers',
      'automation',
      () => anyone().post(`/api/v1/webhooks/${randomUUID()}`, {}, { ...headers, 'x-webhook-secret': random() }),
    ],
    [
      'consents',
      'oauth_state',
      () => anyone().get(`/api/v1/scheduling/calendars/callback?code=c&state=${random()}`, headers),
    ],
    [
      'consents of the sandbox',
      'oauth_state',
      () => anyone().get(`/sandbox/oauth/authorize?state=${random()}`, headers),
    ],
  ])('%s are under way', async (_, table, request) => {
    headers['x-forwarded-for'] = `198.51.100.${++cases}`;
    const { testKey } = await product.createTenant();
    await until('the address is over its limit', async () => {
      const answers = await Promise.all(
        Array.from({ length: 101 }, () => apiClient(api, 'sk_test_wrong').get('/api/v1/health', headers)),
      );
      return answers.some(({ status }) => status === 429);
    });
    const locker = new pg.Client({ connectionString: product.ownerUrl });
    await locker.connect();
    const refusals: Answer[] = [];
    let answers: Promise<unknown>[];
    try {
      await locker.query(`begin; lock table ${table} in access exclusive mode`);
      answers = Array.from({ length: 30 }, async () => {
        const answer = await request();
        if (answer.status === 429) refusals.push(answer);
      });
      await until('all but those in the queue are refused', async () => refusals.length >= 21);
    } finally {
      await locker.end();
    }
    for (const { body } of refusals) expect(body.error.code).toBe('rate_limit_exceeded');
    await Promise.all(answers);
    // The process does not know this key yet.
    expect((await apiClient(api, testKey).get('/api/v1/health', headers)).status).toBe(200);
  });
});

test('an operator may limit every address, except on paths of his choice', async () => {
  const limited = await product.serve({
    BROAD_RATE_MAX: '3',
    BROAD_RATE_BYPASS: '/openapi.json',
    TRUSTED_PROXIES: '192.0.2.1',
  });
  const client = apiClient(limited.api);
  // This peer is not trusted, so its header does not make it another client.
  const spoofed = await Promise.all(
    Array.from({ length: 6 }, (_, index) => client.get('/nothing', { 'x-forwarded-for': `203.0.113.${index}` })),
  );
  expect(spoofed.map(({ status }) => status).toSorted()).toEqual([404, 404, 404, 429, 429, 429]);
  expect((await client.get('/openapi.json')).status).toBe(200);
});

test('the paths of load balancers and the operator are never limited unless he says so', async () => {
  const limited = await product.serve({ BROAD_RATE_MAX: '3' });
  const client = apiClient(limited.api);
  const statuses = async (path: string, headers = {}) =>
    (await Promise.all(Array.from({ length: 5 }, () => client.get(path, headers)))).map(({ status }) => status);
  expect(await statuses('/api/health')).toEqual(Array(5).fill(200));
  expect(new Set(await statuses('/api/ready'))).not.toContain(429);
  expect(await statuses('/api/admin/health')).toEqual(Array(5).fill(401));
  expect((await client.get('/openapi.json')).status).toBe(200);
  expect((await statuses('/api/version')).toSorted()).toEqual([200, 200, 429, 429, 429]);
  const refused = await client.get('/api/version');
  expect(refused.body.error.code).toBe('rate_limit_exceeded');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(refused.headers.has('x-ratelimit-limit')).toBe(false);
  // Refused before anything is read of it, and in its dialect all the same.
  const inB = { body: { error: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) } } };
  expect(await client.get('/v1/workflows', { 'x-api-variant': 'B' })).toMatchObject(inB);
  expect(await client.get('/v1/runs/run_x')).toMatchObject(inB);
  expect((await client.get('/v1/runs/run_x', { 'x-api-variant': 'A' })).body.error.code).toBe('rate_limit_exceeded');
  // A proxy on this machine is trusted, so each address that it names has a window of its own.
  const fromElsewhere = await statuses('/api/version', { 'x-forwarded-for': '203.0.113.1' });
  expect(fromElsewhere.toSorted()).toEqual([200, 200, 200, 429, 429]);
  expect((await client.get('/api/version', { 'x-real-ip': '203.0.113.2' })).status).toBe(200);
  expect((await client.get('/api/version', { 'x-forwarded-for': '203.0.113.3, 203.0.113.1' })).status).toBe(429);
});

describe('a shared counter that', () => {
  const sockets = new Set<Socket>();
  /** Takes every connection and says nothing on any. */
  const mute = createServer((socket) => sockets.add(socket));
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });

  test.each([
    ['is not there', async () => 1],
    [
      'accepts and never answers',
      async () => {
        await once(mute.listen(0, '127.0.0.1'), 'listening');
        return (mute.address() as AddressInfo).port;
      },
    ],
  ])('%s lets each process count for itself, fails no request and makes it unready', async (_, port) => {
    const alone = await product.serve({ REDIS_URL: `redis://127.0.0.1:${await port()}` });
    await advanceToMinute(product);
    const { id } = await createOrganization(product.database, { name: 'Alone', plan: 'enterprise', rateMinute: 5 });
    const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
    const statuses = (await spend(apiClient(alone.api, key), 20)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([...Array(5).fill(200), ...Array(15).fill(429)]);
    expect(await apiClient(alone.api).get('/api/ready')).toMatchObject({
      status: 503,
      body: { checks: { cache: 'failed' } },
    });
    await alone.stop();
  });
});

test('a key without the scope gets the name of the missing one', async () => {
  const { id } = await createOrganization(product.database, { name: 'Scoped', plan: 'team' });
  const scopes = ['workflows:read'];
  for (const variant of ['A', 'B'] as const) {
    const { key } = await createKey(product.database, { organizationId: id, environment: 'test', variant, scopes });
    const client = apiClient(api, key);
    expect((await client.get('/api/v1/workflows')).status).toBe(200);
    const refused = await client.post('/api/v1/workflows', '{broken');
    expect(refused.status).toBe(403);
    expect(refused.body.error).toMatchObject(
      variant === 'A' ? { code: 'forbidden', details: { required: 'workflows:write' } } : { code: 'FORBIDDEN' },
    );
  }
});
