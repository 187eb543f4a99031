import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { keyIds } from '../../src/tenancy/core/ids.ts';
import { generateKey } from '../../src/tenancy/key-format.ts';
import { createKey, revokeKey } from '../../src/tenancy/keys.ts';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { asOwner } from '../as-owner.ts';
import { whileHeld } from '../hold-lock.ts';
import type { OwnApi } from '../own-api.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { revoke } from './revoke.ts';

// A product of its own: tests lock whole tables and cut the connections of every process.
let product: Product;
/** The second one can be stopped and continued. */
let processes: [OwnApi, ProductProcess];

beforeAll(async () => {
  product = await openProduct();
  processes = await Promise.all([product.serve(), product.start(['api'])]);
});
afterAll(() => product.close());

async function issueKey(): Promise<{ organizationId: string; id: string; key: string }> {
  const { organizationId } = await product.createTenant();
  return { organizationId, ...(await createKey(product.database, { organizationId, environment: 'test' })) };
}

const statuses = (key: string, of: Pick<OwnApi, 'api'>[] = processes) =>
  Promise.all(of.map(async ({ api }) => (await apiClient(api, key).get('/api/v1/health')).status));

describe('a revoked key', () => {
  test('is refused by every process on the very next request, which all had it in memory', async () => {
    for (let round = 0; round < 5; round++) {
      const { id, key } = await issueKey();
      expect(await statuses(key)).toEqual([200, 200]);
      await revoke(product.database, id);
      expect(await statuses(key)).toEqual([401, 401]);
    }
  });

  test('stays refused while requests of it are in flight', async () => {
    const { id, key } = await issueKey();
    let revoked = false;
    const late: number[] = [];
    // From many addresses: one with so many failed authentications is refused for them, while a busy process is waited for.
    const from = () => ({ 'x-forwarded-for': `198.51.${[...randomBytes(2)].join('.')}` });
    const hammer = async ({ api }: Pick<OwnApi, 'api'>) => {
      const client = apiClient(api, key);
      while (late.length <= 20) {
        const sentAfter = revoked;
        const { status } = await client.get('/api/v1/health', from());
        if (sentAfter) late.push(status);
      }
    };
    const hammering = Promise.all(processes.flatMap((one) => [hammer(one), hammer(one)]));
    await revoke(product.database, id);
    revoked = true;
    await hammering;
    expect(late.length).toBeGreaterThan(0);
    expect(new Set(late)).toEqual(new Set([401]));
  });

  test('is refused even by a process that stood still while it was revoked', async () => {
    const { id, key } = await issueKey();
    expect(await statuses(key)).toEqual([200, 200]);
    const [, frozen] = processes;
    process.kill(frozen.pid, 'SIGSTOP');
    try {
      await revoke(product.database, id);
    } finally {
      process.kill(frozen.pid, 'SIGCONT');
    }
    expect(await statuses(key)).toEqual([401, 401]);
  });

  test('is refused by a process whose connection for announcements was cut', async () => {
    const { id, key } = await issueKey();
    expect(await statuses(key)).toEqual([200, 200]);
    // A process that connects anew at this moment has none, or two.
    await until('the connection of each is cut', async () => {
      const { rowCount } = await asOwner(
        product,
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'atelier notifications'`,
      );
      return rowCount === processes.length;
    });
    await revoke(product.database, id);
    expect(await statuses(key)).toEqual([401, 401]);
  });
});

/** Runs `work` while no process can look up a key. */
const withoutLookUps = <Result>(work: () => Promise<Result>) =>
  whileHeld(product, 'lock table api_key in access exclusive mode', work);

describe('a change of one organization', () => {
  test('leaves the keys of others in memory, and what is known to be no key', async () => {
    // Again where a machine was so busy that a process may have missed an announcement: then it does look its keys up.
    const seen = await until('nothing is looked up', async () => {
      const [changed, other] = [await issueKey(), await issueKey()];
      const none = generateKey('test');
      for (const [key, status] of [
        [changed.key, 200],
        [other.key, 200],
        [none, 401],
      ] as const) {
        expect(await statuses(key)).toEqual([status, status]);
      }
      await revoke(product.database, changed.id);
      const answers = await withoutLookUps(async () => [await statuses(other.key), await statuses(none)]);
      expect(await statuses(changed.key)).toEqual([401, 401]);
      return !answers.flat().includes(503) && answers;
    });
    expect(seen).toEqual([
      [200, 200],
      [401, 401],
    ]);
  });

  test('is effective with its commit, when the process that made it ends before it announces it', async () => {
    const { id, key } = await issueKey();
    expect(await statuses(key)).toEqual([200, 200]);
    const settings = { ...product.database.settings, url: 'postgres://127.0.0.1:1/none' };
    await expect(revokeKey({ ...product.database, settings }, id)).rejects.toThrow();
    await until('both refuse it', async () => (await statuses(key)).every((status) => status === 401));
  });

  test('is effective when it is announced together with changes of others', async () => {
    const issued = await Promise.all(Array.from({ length: 5 }, issueKey));
    for (const { key } of issued) expect(await statuses(key)).toEqual([200, 200]);
    await Promise.all(
      issued.map(async ({ id, key }) => {
        await revoke(product.database, id);
        expect(await statuses(key)).toEqual([401, 401]);
      }),
    );
  });
});

test('a key that is none is refused again without a look-up', async () => {
  // With another one where a machine was so busy that the process may have missed an announcement: then it is looked up.
  await until('it is refused while keys cannot be read', async () => {
    const none = generateKey('test');
    expect(await statuses(none)).toEqual([401, 401]);
    return (await withoutLookUps(() => statuses(none))).every((status) => status === 401);
  });
});

test('a process of an earlier version announces a change without saying whose it is', async () => {
  const { id, key } = await issueKey();
  expect(await statuses(key)).toEqual([200, 200]);
  const client = new pg.Client({ connectionString: product.databaseUrl });
  await client.connect();
  const confirmed = new Set<number>();
  client.on('notification', ({ processId, payload }) => {
    if (payload === 'a1b2c3') confirmed.add(processId);
  });
  await client.query('listen atelier_keys_changed_heard');
  await product.database.pool.query('update api_key set revoked_at = now() where id = $1', [keyIds.parse(id)]);
  // Again for one that connects anew at this moment.
  await until('both have confirmed', async () => {
    await client.query(`select pg_notify('atelier_keys_changed', 'a1b2c3')`);
    return confirmed.size >= processes.length;
  });
  await client.end();
  expect(await statuses(key)).toEqual([401, 401]);
});

test('revocations at the same time hold one connection, also while a process stands still', async () => {
  const { organizationId, id } = await issueKey();
  const other = await createKey(product.database, { organizationId, environment: 'test' });
  const [asked, frozen] = processes;
  const client = apiClient(asked.api, other.key);
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  const counts: number[] = [];
  process.kill(frozen.pid, 'SIGSTOP');
  try {
    let isOver = false;
    const revoking = Promise.all(Array.from({ length: 40 }, () => client.delete(`/api/v1/keys/${id}`)));
    const over = revoking.finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const { rows } = await owner.query(
        `select count(*)::int as count from pg_stat_activity
          where datname = current_database() and application_name = 'atelier key change'`,
      );
      counts.push(rows[0].count);
    }
    expect(new Set((await over).map(({ status }) => status))).toEqual(new Set([200]));
  } finally {
    process.kill(frozen.pid, 'SIGCONT');
    await owner.end();
  }
  // One that ends may still be seen when the next one begins.
  expect(Math.max(...counts)).toBeGreaterThan(0);
  expect(Math.max(...counts)).toBeLessThanOrEqual(2);
});

test('another plan holds from the next request on', async () => {
  const { organizationId, key } = await issueKey();
  const limits = () =>
    Promise.all(
      processes.map(async ({ api }) => {
        const { headers } = await apiClient(api, key).get('/api/v1/health');
        return headers.get('x-ratelimit-limit');
      }),
    );
  expect(await limits()).toEqual(['600', '600']);
  await updateOrganization(product.database, organizationId, { plan: 'free' });
  expect(await limits()).toEqual(['60', '60']);
  await updateOrganization(product.database, organizationId, { plan: 'enterprise', rateMinute: 77 });
  expect(await limits()).toEqual(['77', '77']);
});
