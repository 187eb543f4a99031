import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { workflowIds } from '../../src/automation/core/ids.ts';
import { openScene, type Scene } from '../crash/oracle.ts';
import { successorOf } from '../crash/successor.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: Scene;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.product.close());

const inA = { 'x-api-variant': 'A' };
const statuses = async (workflowId: string): Promise<string[]> => {
  const { rows } = await scene.product.database.pool.query(
    'select status from run where automation_id = $1 order by number',
    [workflowId],
  );
  return rows.map(({ status }) => status);
};
const nothingIsOpen = (workflowId: string) =>
  until('every run has completed', async () => (await statuses(workflowId)).every((status) => status === 'completed'));
const owed = async () =>
  (await scene.product.database.pool.query('select from outbox where kind <> $1', ['schedule.sync'])).rowCount;

test.each(['concurrency.before-commit'] as const)(
  'killed at %s: every run begins once, and nothing is stuck',
  async (failPoint) => {
    const { product, caller } = scene;
    const { api } = await product.start(['api']);
    const client = caller.at(api);
    const made = await client.post(
      '/api/v1/workflows',
      {
        name: 'Killed',
        steps: [{ id: 'say', type: 'prompt', prompt: 'sandbox:slow=0.05' }],
        concurrency: { limit: 1, strategy: 'queue' },
      },
      inA,
    );
    const { id } = made.body.data;
    await client.post(`/api/v1/workflows/${id}/pause`);
    const items = [{}, {}, { delay: 0.2 }, {}];
    const { batchId } = (await client.post(`/api/v1/workflows/${id}/batch`, { items }, inA)).body.data;
    const doomed = await product.start(['runs'], { FAIL_POINT: failPoint });
    // The API releases what was paused too; its own fail points are not armed.
    await client.post(`/api/v1/workflows/${id}/resume`);
    await successorOf(doomed, product, ['runs']);
    await nothingIsOpen(id);
    const batch = await until('the batch has ended', async () => {
      const found = (await client.get(`/api/v1/batches/${batchId}`)).body.data;
      return found.completedAt !== null && found;
    });
    expect(batch).toMatchObject({ status: 'completed', counts: { total: 4, completed: 4 } });
    await until('nothing is owed any more', async () => (await owed()) === 0);
    const { rows } = await product.database.pool.query(
      'select coalesce(sum(runs), 0)::int as queued from queued_total',
    );
    expect(rows).toEqual([{ queued: 0 }]);
  },
);

test.each(['batch.before-commit', 'batch.committed'] as const)(
  'killed at %s: the repeated request has the batch once',
  async (failPoint) => {
    const { product, caller } = scene;
    await product.start(['runs']);
    const doomed = await product.start(['api'], { FAIL_POINT: failPoint });
    const id = workflowIds.parse(await caller.createWorkflow(doomed.api, ['x']))!;
    const headers = { ...inA, 'Idempotency-Key': failPoint };
    const body = { items: [{}, {}, {}] };
    await expect(caller.at(doomed.api).post(`/api/v1/workflows/${id}/batch`, body, headers)).rejects.toThrow();
    const { api } = await successorOf(doomed, product, ['api']);
    const again = await caller.at(api).post(`/api/v1/workflows/${id}/batch`, body, headers);
    expect([again.status, again.body.data.total]).toEqual([202, 3]);
    await until(
      'all have completed',
      async () => (await statuses(id)).filter((one) => one === 'completed').length === 3,
    );
    expect(await statuses(id)).toHaveLength(3);
  },
);
