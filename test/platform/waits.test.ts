import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { newEmail, ownOrigin } from '../accounts/people.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { whileHeld } from '../hold-lock.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import { until } from '../until.ts';

/** So few connections that fifty requests would have them all. */
const poolSize = 4;

// A product of its own: tests count all connections that wait, and lock whole tables.
let product: Product;
let tenant: Tenant;
let api: ApiClient;
let other: ApiClient;
/** The client of the superuser, who sees what the others wait for. */
let owner: pg.Client;

beforeAll(async () => {
  product = await openProduct();
  owner = new pg.Client(product.ownerUrl);
  await owner.connect();
  tenant = await product.createTenant({ plan: 'enterprise' });
  const { api: url } = await product.start(['api', 'runs'], { DATABASE_POOL_SIZE: String(poolSize) });
  api = apiClient(url, tenant.testKey);
  other = apiClient(url, (await product.createTenant()).testKey);
});
afterAll(async () => {
  await owner.end();
  await product.close();
});

/** Connections that wait for the transaction of a lock. */
async function waitingConnections(): Promise<number> {
  const { rows } = await owner.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and application_name = 'atelier'`,
  );
  return rows[0]!.count;
}

/** Shorter than the product waits for a lock, and than a request waits for a connection: 5 s and 10 s. */
const limits = { lockedMs: 4_000, answeredMs: 9_000 };

interface Held<Answer> {
  answers: Answer[];
  waiting: number;
}

/**
 * Holds what `lock` locks while `requests` wait for it. Another organization is served meanwhile. Begins anew where a busy
 * machine took so long that requests may have been given up.
 */
async function whileLocked<Answer>(
  lock: (client: pg.Client) => Promise<unknown>,
  requests: (attempt: number) => Promise<Answer>[],
): Promise<Held<Answer>> {
  for (let attempt = 1; ; attempt++) {
    const held = await attemptLocked(lock, () => requests(attempt));
    if (held) return held;
  }
}

async function attemptLocked<Answer>(
  lock: (client: pg.Client) => Promise<unknown>,
  requests: () => Promise<Answer>[],
): Promise<Held<Answer> | undefined> {
  const client = new pg.Client(product.ownerUrl);
  await client.connect();
  await client.query('begin');
  try {
    await lock(client);
    const begun = performance.now();
    let isAnswered = false;
    const answers = Promise.all(requests()).finally(() => {
      isAnswered = true;
    });
    // The last time at which none was seen to wait.
    let waitedFrom = begun;
    await until('a request waits, or all have been given up', async () => {
      const lookedAt = performance.now();
      if (isAnswered || (await waitingConnections()) > 0) return true;
      waitedFrom = lookedAt;
      return false;
    });
    for (let count = 0; count < 20; count++) expect((await other.get('/api/v1/workflows')).status).toBe(200);
    const waiting = await waitingConnections();
    await client.query('commit');
    const lockedMs = performance.now() - waitedFrom;
    const held = { answers: await answers, waiting };
    const isInTime = waiting > 0 && lockedMs < limits.lockedMs && performance.now() - begun < limits.answeredMs;
    return isInTime ? held : undefined;
  } finally {
    await client.end();
  }
}

const lockRow = (id: string) => (client: pg.Client) =>
  client.query('select 1 from automation where id = $1 for update', [id]);
const lockNamed = (what: string) => (client: pg.Client) =>
  client.query(`select pg_advisory_xact_lock(hashtextextended(concat_ws(':', $1::uuid, 'test', $2::text), 0))`, [
    organizationIds.parse(tenant.organizationId),
    what,
  ]);
const fifty = <Answer>(request: (index: number) => Promise<Answer>) => Array.from({ length: 50 }, (_, n) => request(n));

test('of fifty requests with one Idempotency-Key one waits in PostgreSQL, and all get its answer', async () => {
  const { id } = await makeWorkflow(api);
  const { answers, waiting } = await whileLocked(lockRow(id), (attempt) =>
    fifty(() => api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, { 'idempotency-key': `fifty ${attempt}` })),
  );
  expect(waiting).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(new Set(answers.map(({ body }) => body.data.runId)).size).toBe(1);
});

test('of fifty workflows that are created at once one waits for the lock of their count', async () => {
  const { answers, waiting } = await whileLocked(lockNamed('workflows'), () =>
    fifty((index) => api.post('/api/v1/workflows', { name: `At once ${index}`, steps: [] })),
  );
  expect(waiting).toBe(1);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
});

test('requests of an organization that wait for a row leave connections to the others', async () => {
  const { id } = await makeWorkflow(api);
  const { answers, waiting } = await whileLocked(lockRow(id), () =>
    fifty((index) => api.post(`/api/v1/workflows/${id}/execute`, { input: String(index), async: true })),
  );
  expect(waiting).toBeLessThan(poolSize);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(new Set(answers.map(({ body }) => body.data.runId)).size).toBe(50);
});

test('transactions that need the same locks in different order all come through', async () => {
  const connect = () => api.post('/api/v1/integrations/slack/connect', { redirectUrl: 'https://app.example.com/done' });
  const answers = await Promise.all(Array.from({ length: 20 }, connect));
  expect(new Set(answers.map(({ status }) => status)).size).toBe(1);
});

test('what better-auth cannot answer while its connections are in use is refused as everywhere else', async () => {
  const { api: base } = await product.serve({ ...secrets, ADDRESS_RATE_MAX: '0' });
  let tries = 0;
  // Again where a machine was so busy that PostgreSQL ended those that wait.
  const statuses = await until('one alone is refused', async () => {
    const body = JSON.stringify({ email: newEmail(), password: 'seven blue boats at noon' });
    const headers = {
      origin: ownOrigin,
      'content-type': 'application/json',
      'x-forwarded-for': `203.0.113.${++tries}`,
    };
    const signIn = () => fetch(`${base}/api/auth/sign-in/email`, { method: 'POST', headers, body });
    // Opens the connections: one that is opened slowly is given up too.
    await Promise.all(Array.from({ length: 4 }, signIn));
    const asked = await whileHeld(product, 'lock table auth."user" in access exclusive mode', async () => {
      // Four of them have a connection.
      const sent = Array.from({ length: 5 }, signIn);
      const refused = await Promise.race(sent);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await refused.json()).toMatchObject({ success: false, error: { code: 'service_unavailable' } });
      return sent;
    });
    const all = (await Promise.all(asked)).map(({ status }) => status);
    return all.filter((status) => status === 503).length === 1 && all;
  });
  expect(statuses.toSorted()).toEqual([401, 401, 401, 401, 503]);
});
