import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { generateKey } from '../../../src/tenancy/key-format.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { ownPostgres, ownTemporal } from '../../crash/own-servers.ts';
import { asOperator, secrets } from '../../operator.ts';
import { openProduct, type Product } from '../../product.ts';
import { until } from '../../until.ts';

let postgres: Awaited<ReturnType<typeof ownPostgres>>;
let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let product: Product;
let client: ApiClient;
/** Another organization's: one alone has a part of the pool at most. */
let other: ApiClient;
let frozen: number[] = [];
beforeAll(async () => {
  [postgres, temporal] = await Promise.all([ownPostgres(), ownTemporal()]);
  product = await openProduct({
    testDatabase: postgres.testDatabase,
    env: { ...secrets, TEMPORAL_ADDRESS: temporal.address, DATABASE_POOL_SIZE: '2' },
  });
  const { testKey } = await product.createTenant();
  const { api } = await product.start(['api']);
  client = apiClient(api, testKey);
  other = apiClient(api, (await product.createTenant()).testKey);
});
afterEach(thaw);
afterAll(async () => {
  await product.close();
  await Promise.all([postgres.close(), temporal.close()]);
});

/** A process and all that it started. */
function familyOf(pid: number): number[] {
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => {
      const stat = readTextIfThere(`/proc/${name}/stat`);
      return { pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 4).split(' ')[0]) };
    });
  const below = (of: number): number[] => [
    of,
    ...parents.filter(({ parent }) => parent === of).flatMap((child) => below(child.pid)),
  ];
  return below(pid);
}

function readTextIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Leaves every connection open and answers nothing on any of them. */
function freeze(pid: number): void {
  frozen = familyOf(pid);
  for (const one of frozen) process.kill(one, 'SIGSTOP');
}

function thaw(): void {
  for (const one of frozen) process.kill(one, 'SIGCONT');
  frozen = [];
}

/**
 * It answers within a second; a machine that does other things too may take more, and no time limit of a driver is as short.
 * What took longer than this is tried again: the machine may have been as slow by itself.
 */
const inGoodTimeMs = 8_000;

/** Asks and says how long that took. */
async function timed(path: string) {
  const began = performance.now();
  const answer = await client.request('GET', path);
  return { ...answer, ms: performance.now() - began };
}

const isReady = async () => (await client.get('/api/ready')).status === 200;

/** Asks until it says so. @returns the answer, and how long the slowest one on the way took */
async function readiness(status: 200 | 503) {
  let slowest = 0;
  const answer = await until(`/api/ready answers ${status}`, async () => {
    const asked = await timed('/api/ready');
    slowest = Math.max(slowest, asked.ms);
    return asked.status === status && asked;
  });
  const many = await Promise.all(Array.from({ length: 50 }, () => timed('/api/ready')));
  return { answer, slowest: Math.max(slowest, ...many.map(({ ms }) => ms)) };
}

/** What is no key at all is refused without the database; what may be one is not answered without it. */
async function malformedKeysAreRefused(): Promise<void> {
  const good = generateKey('test');
  const malformed = ['nonsense', `${good.slice(0, -1)}${good.endsWith('a') ? 'b' : 'a'}`, good.replace('test', 'live')];
  const ask = (key: string) => client.request('GET', '/api/v1/health', undefined, { authorization: `Bearer ${key}` });
  for (const key of malformed) expect(await ask(key)).toMatchObject({ status: 401 });
  expect(await ask(good)).toMatchObject({ status: 503, body: { error: { code: 'service_unavailable' } } });
}

describe.each([
  ['PostgreSQL stalled', () => freeze(postgres.pid()), async () => thaw(), 'database'],
  ['PostgreSQL gone', () => postgres.kill(), () => postgres.start(), 'database'],
  ['Temporal stalled', () => freeze(temporal.pid()), async () => thaw(), 'temporal'],
  ['Temporal gone', () => temporal.kill(), () => temporal.start(), 'temporal'],
] as const)('%s', (_, breakIt, mendIt, dependency) => {
  test('not ready in good time, alive, and ready again by itself', async () => {
    /** How long the slowest answer took while it was broken. */
    const breakAndMend = async () => {
      await breakIt();
      try {
        const { answer, slowest } = await readiness(503);
        expect(answer.body).toMatchObject({ ready: false, checks: { [dependency]: 'failed' } });
        const health = await timed('/api/health');
        expect(health).toMatchObject({ status: 200, body: { status: 'degraded' } });
        // A database that answers late counts as one that does not.
        const status = dependency === 'database' ? 503 : 200;
        const strict = await until(`strict health answers ${status}`, async () => {
          const asked = await timed('/api/health?strict=1');
          return asked.status === status && asked;
        });
        if (dependency === 'database') await malformedKeysAreRefused();
        const inspected = await client.get('/api/admin/health', asOperator);
        expect(inspected.body).toMatchObject({ ready: false, checks: { [dependency]: { ok: false } } });
        if (dependency === 'database')
          expect(inspected.body).toMatchObject({ outbox: null, versions: { postgres: null } });
        return Math.max(slowest, health.ms, strict.ms);
      } finally {
        await mendIt();
      }
    };
    await until('every answer comes in good time', async () => {
      await until('it is ready at first', isReady);
      const slowest = await breakAndMend();
      await until('it is ready again', isReady);
      return slowest < inGoodTimeMs;
    });
  });
});

test('requests that use up the pool do not make it unready', async () => {
  await until('every answer comes in good time', async () => {
    await until('it is ready at first', isReady);
    const [locker, watcher] = [0, 1].map(() => new pg.Client({ connectionString: postgres.testDatabase.ownerUrl }));
    await Promise.all([locker!.connect(), watcher!.connect()]);
    await locker!.query('begin; lock table automation');
    const asked = Array.from({ length: 30 }, (_, index) => (index % 2 ? client : other).get('/api/v1/workflows'));
    let isOver = false;
    const waiting = Promise.all(asked).finally(() => {
      isOver = true;
    });
    try {
      // They wait for some seconds, in which a busy machine may not have seen them.
      const seen = await until('every connection waits for the lock', async () => {
        const { rows } = await watcher!.query(
          "select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'",
        );
        if (rows[0].count >= 2) return 'now';
        return isOver && 'missed';
      });
      const { slowest } = await readiness(200);
      return seen === 'now' && slowest < inGoodTimeMs;
    } finally {
      await Promise.all([locker!.end(), watcher!.end()]);
      await waiting;
    }
  });
});
