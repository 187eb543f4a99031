import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { whileHeld } from '../hold-lock.ts';
import { until } from '../until.ts';
import { openScene, type Scene } from './oracle.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.product.close());

const inA = { 'x-api-variant': 'A' };
const counted = 5;

/** A workflow with runs that failed, or that wait for a time. */
async function makeRuns(api: string, action: 'cancel' | 'retry') {
  const client = scene.caller.at(api);
  const failing = { id: 'say', type: 'prompt', prompt: 'sandbox:fail' };
  const waiting = { id: 'nap', type: 'wait', for: 'P300D' };
  const made = await client.post(
    '/api/v1/workflows',
    { name: action, steps: [action === 'retry' ? failing : waiting] },
    inA,
  );
  const { id } = made.body.data;
  const items = Array.from({ length: counted }, () => ({}));
  const { batchId } = (await client.post(`/api/v1/workflows/${id}/batch`, { items }, inA)).body.data;
  const { rows } = await scene.product.database.pool.query('select id from run where automation_id = $1', [id]);
  await until('its runs are there', async () => {
    const { rowCount } = await scene.product.database.pool.query(
      `select from run where automation_id = $1 and (status = 'failed' or waiting_since is not null)`,
      [id],
    );
    return rowCount === counted;
  });
  expect(batchId).toBeDefined();
  return { id: id as string, ids: rows.map((row) => row.id as string) };
}

/** Every run was retried or cancelled once, whatever was killed. */
async function verify(workflowId: string, ids: readonly string[], action: 'cancel' | 'retry') {
  const { pool } = scene.product.database;
  if (action === 'retry') {
    const { rows } = await pool.query(
      'select retry_of as of from run where automation_id = $1 and retry_of is not null',
      [workflowId],
    );
    expect(rows.map(({ of }) => of).toSorted()).toEqual(ids.toSorted());
    await until('every retry has ended', async () => {
      const { rowCount } = await pool.query(
        `select from run where automation_id = $1 and status not in ('failed', 'completed', 'cancelled')`,
        [workflowId],
      );
      return rowCount === 0;
    });
  } else {
    const { rows } = await pool.query('select distinct status from run where automation_id = $1', [workflowId]);
    expect(rows).toEqual([{ status: 'cancelled' }]);
  }
  await until('nothing is owed any more', async () => {
    const { rowCount } = await pool.query(`select from outbox where kind <> 'schedule.sync'`);
    return rowCount === 0;
  });
}

const ended = (api: string, id: string) =>
  until('it has ended', async () => {
    const found = (await scene.caller.at(api).get(`/api/v1/bulk-actions/${id}`, inA)).body.data;
    return found.completedAt !== null && found;
  });

test.each([
  ['bulk.retrying', 'retry'],
  ['bulk.retried', 'retry'],
  ['bulk.cancelling', 'cancel'],
  ['bulk.cancelled', 'cancel'],
] as const)('a worker that is killed at %s: each run once, and the counts are exact', async (failPoint, action) => {
  const { product, caller } = scene;
  const { api } = await product.start(['api']);
  const first = await product.start(['runs']);
  const { id: workflowId, ids } = await makeRuns(api, action);
  await first.stop();
  const doomed = await product.start(['runs'], { FAIL_POINT: failPoint });
  const named = ids.map((id) => runIds.format(id));
  const { id } = (await caller.at(api).post('/api/v1/bulk-actions', { action, runIds: named }, inA)).body.data;
  const successor = await successorOf(doomed, product, ['runs']);
  expect(await ended(api, id)).toMatchObject({
    status: 'completed',
    counts: { total: counted, succeeded: counted, failed: 0, skipped: 0 },
  });
  await verify(workflowId, ids, action);
  // The next one that is to die does the work alone.
  await successor.stop();
});

test.each(['bulk.before-commit', 'bulk.committed'] as const)(
  'an API that is killed at %s: the repeated request has one bulk action, which is done',
  async (failPoint) => {
    const { product, caller } = scene;
    await product.start(['runs']);
    const { api: healthy } = await product.start(['api']);
    const { id: workflowId, ids } = await makeRuns(healthy, 'retry');
    const doomed = await product.start(['api'], { FAIL_POINT: failPoint });
    const headers = { ...inA, 'Idempotency-Key': failPoint };
    const body = { action: 'retry', runIds: ids };
    await expect(caller.at(doomed.api).post('/api/v1/bulk-actions', body, headers)).rejects.toThrow();
    const { api } = await successorOf(doomed, product, ['api']);
    const again = await caller.at(api).post('/api/v1/bulk-actions', body, headers);
    expect(again.status).toBe(202);
    expect((await ended(api, again.body.data.id)).counts).toMatchObject({ total: counted, succeeded: counted });
    await verify(workflowId, ids, 'retry');
    const { rows } = await product.database.pool.query(
      'select count(*)::int as count from bulk_action where run_ids @> $1::uuid[]',
      [ids],
    );
    expect(rows).toEqual([{ count: 1 }]);
  },
);

test('an API that is killed after it aborted: its workflow ends, and nothing more is retried', async () => {
  const { product, caller } = scene;
  const { api: healthy } = await product.start(['api']);
  await product.start(['runs']);
  const { id: workflowId, ids } = await makeRuns(healthy, 'retry');
  const doomed = await product.start(['api'], { FAIL_POINT: 'bulk.aborted' });
  // A retry of the first run waits for this transaction.
  const id = await whileHeld(product, `select from run where id = '${ids[0]}' for update`, async () => {
    const created = await caller.at(healthy).post('/api/v1/bulk-actions', { action: 'retry', runIds: ids }, inA);
    const path = `/api/v1/bulk-actions/${created.body.data.id}`;
    await until('it has begun', async () => {
      return (await caller.at(healthy).get(path, inA)).body.data.status === 'running';
    });
    await expect(caller.at(doomed.api).post(`${path}/abort`, {}, inA)).rejects.toThrow();
    return created.body.data.id;
  });
  expect(await ended(healthy, id)).toMatchObject({ status: 'aborted', counts: { total: counted, succeeded: 0 } });
  await verify(workflowId, [], 'retry');
});
