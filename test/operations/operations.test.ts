import { execFileSync } from 'node:child_process';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import packageJson from '../../package.json' with { type: 'json' };
import { type ApiClient, apiClient } from '../api-client.ts';
import { asOperator, secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

const allOk = { database: 'ok', cache: 'ok', environment: 'ok', temporal: 'ok' };

// A product of its own: tests read what a whole installation owes.
let product: Product;
let tenant: Tenant;
let api: string;
let open: ApiClient;
beforeAll(async () => {
  product = await openProduct({ env: secrets });
  tenant = await product.createTenant();
  api = (await product.start(['api', 'runs'])).api;
  open = apiClient(api);
});
afterAll(() => product.close());

/** Other programs on the machine may make one look late; the next one counts. */
async function asks(client: ApiClient, path: string, status: number, body: object): Promise<void> {
  let last: unknown;
  await until(`${path} answers ${status}`, async () => {
    const answer = await client.get(path);
    last = { status: answer.status, body: answer.body };
    return isDeepStrictEqual(last, { status, body });
  }).catch(() => expect(last).toEqual({ status, body }));
}

describe('version', () => {
  test('names the application and the commit of the checkout, to anybody', async () => {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
    expect(await open.get('/api/version')).toMatchObject({
      status: 200,
      body: { version: packageJson.version, commit },
    });
  });
});

describe('a process whose environment names a commit, and no secrets,', () => {
  let bare: ApiClient;
  beforeAll(async () => {
    const env = { COMMIT_SHA: 'abcdef0123456789', SEALING_KEYS: '', CRON_SECRET: '' };
    bare = apiClient((await product.serve(env)).api);
  });

  test('is of the commit that the environment names', async () => {
    expect((await bare.get('/api/version')).body.commit).toBe('abcdef0123456789');
  });

  test('fails strict checks and is alive, and does not reveal which secret is missing', async () => {
    const checks = { ...allOk, environment: 'failed' };
    await asks(bare, '/api/health', 200, { status: 'degraded', checks });
    await asks(bare, '/api/ready', 503, { ready: false, checks });
    await asks(bare, '/api/health?strict=1', 503, { status: 'unhealthy', checks });
    const strict = await bare.get('/api/health?strict=1');
    expect(strict.headers.get('retry-after')).toBe('1');
    expect((await bare.get('/api/ready')).headers.has('retry-after')).toBe(false);
    expect(JSON.stringify(strict.body)).not.toMatch(/SEALING|SIGNING|CRON|secret/i);
  });

  test('has no operator', async () => {
    for (const secret of ['', 'undefined', 'null']) {
      const answer = await bare.get('/api/admin/health', { authorization: `Bearer ${secret}` });
      expect(answer.status).toBe(401);
    }
  });
});

describe('health and readiness', () => {
  test('all is well, for anybody, and no cache keeps it', async () => {
    for (const path of ['/api/health', '/api/health?strict=1', '/api/health?strict=0']) {
      await asks(open, path, 200, { status: 'healthy', checks: allOk });
      expect((await open.get(path)).headers.get('cache-control')).toBe('no-store');
    }
    await asks(open, '/api/ready', 200, { ready: true, checks: allOk });
  });

  test('a bad key, another dialect or HEAD changes nothing', async () => {
    const odd = await until('no check is late', async () => {
      const answer = await open.get('/api/ready', { authorization: 'Bearer nonsense', 'x-api-variant': 'Z' });
      return answer.status !== 503 && answer;
    });
    expect(odd.status).toBe(200);
    expect((await open.request('HEAD', '/api/health')).status).toBe(200);
  });

  test.each(['?strict=2', '?strict=1&strict=1', '?strict='])('%s is not a question', async (query) => {
    expect(await open.get(`/api/health${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path: 'strict' }] } } },
    });
  });

  test('a shared cache that is away: not ready, alive, and not unhealthy', async () => {
    const away = await product.serve({ REDIS_URL: 'redis://127.0.0.1:1' });
    const client = apiClient(away.api);
    const checks = { ...allOk, cache: 'failed' };
    await asks(client, '/api/ready', 503, { ready: false, checks });
    await asks(client, '/api/health?strict=1', 200, { status: 'degraded', checks });
    await away.stop();
  });
});

describe('a process of its own', () => {
  let own: ProductProcess;
  // Long enough to ask several times on a busy machine.
  const startOwn = () => product.start(['api'], { DRAIN_NOTICE_SECONDS: '10' });
  beforeAll(async () => {
    own = await startOwn();
  });

  test("limits guesses of the operator's secret, and lets the secret in all the same", async () => {
    const client = apiClient(own.api);
    const guesses = await Promise.all(
      Array.from({ length: 105 }, () => client.get('/api/admin/health', { authorization: 'Bearer guess' })),
    );
    expect(guesses.filter(({ status }) => status === 429).length).toBe(5);
    expect((await client.get('/api/admin/health', asOperator)).status).toBe(200);
  });

  test('that gets the signal to stop is not ready first, and still answers until that could be noticed', async () => {
    let stopping = own;
    // On a busy machine it may be over before it was asked: then another one is stopped.
    await until('it is asked in time', async () => {
      const client = apiClient(stopping.api, tenant.testKey);
      await asks(client, '/api/ready', 200, { ready: true, checks: allOk });
      const ended = stopping.stop();
      const began = performance.now();
      try {
        await asks(client, '/api/ready', 503, { ready: false, checks: allOk });
        await asks(client, '/api/health', 200, { status: 'healthy', checks: allOk });
        expect((await client.get('/api/v1/health')).status).toBe(200);
      } catch (error) {
        if (performance.now() - began < 8_000) throw error;
        expect(await ended).toBe(0);
        stopping = await startOwn();
        return false;
      }
      expect(await ended).toBe(0);
      return true;
    });
  });
});

describe('the operator', () => {
  const paths = ['/api/admin/health', '/api/cron/webhook-gateway'];

  test.each(paths.flatMap((path) => ['GET', 'POST'].map((method) => [method, path])))(
    '%s %s refuses a caller without the secret',
    async (method, path) => {
      const attempts = [
        undefined,
        'Bearer',
        'Bearer wrong',
        `Bearer ${secrets.CRON_SECRET}x`,
        `Basic ${secrets.CRON_SECRET}`,
      ];
      for (const authorization of [...attempts, `Bearer ${tenant.testKey}`]) {
        const answer = await open.request(method!, path!, undefined, authorization ? { authorization } : {});
        expect({ authorization, ...answer }).toMatchObject({
          status: 401,
          body: { success: false, error: { code: 'unauthorized', requestId: answer.headers.get('x-request-id') } },
        });
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
    },
  );

  test.each(['GET', 'POST'])('%s /api/admin/health returns everything', async (method) => {
    // What takes longer than half a second on a busy machine is unknown; the next answer counts.
    const { status, body } = await until('it has looked everywhere', async () => {
      const answer = await open.request(method, '/api/admin/health', undefined, asOperator);
      const { checks, outbox, versions } = answer.body;
      const found = [...Object.values<{ ok: boolean }>(checks).map(({ ok }) => ok), outbox, ...Object.values(versions)];
      return found.every(Boolean) && answer;
    });
    const finding = { ok: true, latencyMs: expect.any(Number) };
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        status: 'healthy',
        ready: true,
        draining: false,
        checks: { database: finding, cache: finding, environment: finding, temporal: finding, storage: finding },
        outbox: { depth: 0, oldestSeconds: 0 },
        versions: {
          version: packageJson.version,
          commit: expect.stringMatching(/^[0-9a-f]{40}$/),
          node: process.version,
          postgres: expect.stringMatching(/^\d+/),
          migration: expect.stringMatching(/^Migration\d+_/),
          temporal: expect.stringMatching(/^\d+\./),
        },
        uptimeSeconds: expect.any(Number),
      },
    });
  });

  test.each(['GET', 'POST'])('%s /api/cron/webhook-gateway does what a dead process still owed', async (method) => {
    const client = apiClient(api, tenant.testKey);
    // A process that dies between its commit and the start of the run leaves the run to the outbox.
    const dying = await product.start(['api'], { FAIL_POINT: 'run.committed' });
    const steps = [{ id: 'say', type: 'prompt', prompt: 'x' }];
    const { id } = (await client.post('/api/v1/workflows', { name: 'Owed', steps })).body.data;
    const died = apiClient(dying.api, tenant.testKey).post(`/api/v1/workflows/${id}/execute`, {
      async: true,
      inputs: {},
    });
    await expect(died).rejects.toThrow();
    await dying.ended;
    const due = "update outbox set available_at = now() where kind = 'run.start'";
    // The worker drains by itself every two seconds: whichever comes first, the run is started once.
    await product.database.pool.query(due);
    const { status, body } = await open.request(method, '/api/cron/webhook-gateway', undefined, asOperator);
    expect({ status, body }).toEqual({ status: 200, body: { drained: expect.any(Number) } });
    const { runs } = await until('the run ends', async () => {
      const { data } = (await client.get(`/api/v1/workflows/${id}/runs`)).body;
      return data.runs[0]?.status === 'COMPLETED' && data;
    });
    expect(runs).toHaveLength(1);
    // The run may end before its start is written down as done, and what failed meanwhile is due again later.
    await until('nothing is owed', async () => {
      const answer = await open.request(method, '/api/cron/webhook-gateway', undefined, asOperator);
      const { rows } = await product.database.pool.query("select from outbox where kind = 'run.start'");
      return answer.body.drained === 0 && rows.length === 0;
    });
  });
});
