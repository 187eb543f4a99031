import { expect, jest, test } from '@jest/globals';
import pg from 'pg';
import type { ApiClient } from '../api-client.ts';
import { type Scene, withScene } from '../crash/oracle.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

const key = { 'idempotency-key': 'create-4711' };
const body = { name: 'Once', steps: [{ id: 'say', type: 'prompt', prompt: '{{input}}' }] };
const create = (client: ApiClient) => client.post('/api/v1/workflows', body, key);

const commitLock = 4711;

/** Sees everything and may lock anything. */
async function asOwner({ product }: Scene): Promise<pg.Client> {
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  return owner;
}

/** Waits until a session of the product stands still before its commit. @returns its process id in PostgreSQL */
const waitingSession = (owner: pg.Client): Promise<number> =>
  until('a session waits for an advisory lock', async () => {
    const { rows } = await owner.query(
      `select l.pid from pg_locks l join pg_stat_activity a on a.pid = l.pid
        where not l.granted and l.locktype = 'advisory' and a.datname = current_database()`,
    );
    return rows[0]?.pid;
  });

const untilGone = (owner: pg.Client, pid: number) =>
  until('what the dead process had begun is over', async () => {
    const { rows } = await owner.query('select 1 from pg_stat_activity where pid = $1', [pid]);
    return rows.length === 0;
  });

/** Lets a process die while PostgreSQL holds its request back at a lock, and PostgreSQL go on without it. */
async function dieWaiting(doomed: ProductProcess, client: ApiClient, owner: pg.Client, unlock: string) {
  const asked = expect(create(client)).rejects.toThrow();
  const pid = await waitingSession(owner);
  await doomed.kill();
  await asked;
  await owner.query(unlock);
  await untilGone(owner, pid);
}

test.concurrent('killed before a creation is committed: nothing exists, and the retry creates it', () =>
  withScene(async (scene) => {
    const { product, caller } = scene;
    // In the middle of its transaction: everything is written and nothing is committed.
    const doomed = await product.start(['api'], { FAIL_POINT: 'audit.recorded' });
    await expect(create(caller.at(doomed.api))).rejects.toThrow();
    await doomed.ended;

    const client = caller.at((await product.start(['api'])).api);
    expect((await client.get('/api/v1/workflows')).body.data.workflows).toEqual([]);
    const answer = await create(client);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    expect((await client.get('/api/v1/workflows')).body.data.pagination.total).toBe(1);
  }));

test.concurrent('killed before it learns that its creation is committed: the retry gets that one', () =>
  withScene(async (scene) => {
    const { product, caller } = scene;
    const owner = await asOwner(scene);
    // Commits stand still until the test lets them go on. A process that dies slowly lasts longer than the wait for a lock.
    await owner.query(`
      create function hold_commit() returns trigger language plpgsql set lock_timeout = 0 as $$
        begin perform pg_advisory_xact_lock_shared(${commitLock}); return null; end $$;
      create constraint trigger hold_commit after insert on idempotency
        deferrable initially deferred for each row execute function hold_commit();
      select pg_advisory_lock(${commitLock});`);
    const doomed = await product.start(['api']);
    await dieWaiting(doomed, caller.at(doomed.api), owner, `select pg_advisory_unlock(${commitLock})`);
    await owner.end();

    const client = caller.at((await product.start(['api'])).api);
    const [made, ...others] = (await client.get('/api/v1/workflows')).body.data.workflows;
    expect(others).toEqual([]);
    const answers = await Promise.all([create(client), create(client), create(client)]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 201, body: { data: { id: made.id, name: 'Once' } } });
      expect(answer.headers.get('idempotent-replayed')).toBe('true');
    }
    expect((await client.get('/api/v1/workflows')).body.data.pagination.total).toBe(1);
  }));
