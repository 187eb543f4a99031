import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { bulkActionIds } from '../../src/automation/core/ids.ts';
import { newId } from '../../src/platform/ids.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { openServices, readEnv, type Services } from '../../src/services.ts';
import { bulkActionWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let connection: Connection;
let services: Services;
beforeAll(async () => {
  product = await sharedProduct();
  const TEMPORAL_ADDRESS = runningServers().temporalAddress;
  connection = await Connection.connect({ address: TEMPORAL_ADDRESS });
  const env = readEnv({
    DATABASE_URL: product.databaseUrl,
    TEMPORAL_ADDRESS,
    TEMPORAL_TASK_QUEUE_PREFIX: product.taskQueuePrefix,
  });
  services = await openServices(env, openLog('silent', 'test'), { connection });
});
afterAll(async () => {
  await services.close();
  await connection.close();
  await product.close();
});

const inA = { 'x-api-variant': 'A' };
const hourMs = 3_600_000;

/** Housekeeping looks after bulk actions. The product's own may do so at the same time, with the same result. */
const sweep = () => services.sweeps.find(({ name }) => name.startsWith('go on with lost bulk actions'))!.run();

async function open() {
  const { testKey } = await product.createTenant({ plan: 'team' });
  const api = apiClient(product.process.api, testKey);
  const create = (body: object) => api.post('/api/v1/bulk-actions', body, inA);
  const read = async (id: string) => (await api.get(`/api/v1/bulk-actions/${bulkActionIds.format(id)}`, inA)).body.data;
  const { body } = await create({ action: 'cancel', runIds: ['nonsense'] });
  const like = bulkActionIds.parse(body.data.id)!;
  await until('it has ended', async () => (await read(like)).completedAt !== null);
  return {
    api,
    create,
    read,
    /** A bulk action half of whose runs were retried, and that Temporal knows nothing of. @returns its uuid */
    async lose(ageMs: number, runIds: string[] = [newId(), newId()]): Promise<string> {
      const id = newId();
      const begun = {
        action: 'retry',
        status: 'running',
        completed_at: null,
        created_at: new Date(Date.now() - ageMs),
      };
      const half = { total: 2, run_ids: runIds, done: 1, succeeded: 1, failed: 0, errors: [] };
      await product.database.pool.query(
        `insert into bulk_action select (jsonb_populate_record(b, $2)).* from bulk_action b where id = $1`,
        [like, JSON.stringify({ id, ...begun, ...half })],
      );
      return id;
    },
  };
}

test('one that Temporal lost goes on where it was, and repeats nothing', async () => {
  const on = await open();
  const { id: workflowId } = await makeWorkflow(on.api, {
    steps: [{ id: 'say', type: 'prompt', prompt: 'sandbox:fail' }],
  });
  await on.api.post(`/api/v1/workflows/${workflowId}/batch`, { items: [{}, {}] }, inA);
  const list = async () => (await on.api.get(`/api/v1/runs?workflowId=${workflowId}`, inA)).body.data.runs;
  await until('its runs have failed', async () =>
    (await list()).every(({ status }: { status: string }) => status === 'FAILED'),
  );
  const runIds: string[] = (await list()).map(({ runId, id }: { runId?: string; id: string }) => runId ?? id);
  const lost = await on.lose(hourMs, runIds);
  const recent = await on.lose(0);
  await sweep();
  const ended = await until('it has ended', async () => {
    const found = await on.read(lost);
    return found.completedAt !== null && found;
  });
  expect(ended).toMatchObject({ status: 'completed', counts: { total: 2, succeeded: 2, failed: 0, skipped: 0 } });
  const { rows } = await product.database.pool.query(
    'select retry_of as of from run where automation_id = $1 and retry_of is not null',
    [workflowId],
  );
  expect(rows).toEqual([{ of: runIds[1] }]);
  // It may be about to be started.
  expect((await on.read(recent)).status).toBe('running');
});

test('one whose workflow is closed is aborted, as is one that was perhaps stopped long ago; one that is open goes on', async () => {
  const on = await open();
  const forgotten = await on.lose(48 * hourMs);
  const held = await on.lose(hourMs);
  const { workflow } = new Client({ connection });
  const workflowId = bulkActionWorkflowId(held);
  const handle = await workflow.start('performBulkAction', { workflowId, taskQueue: 'nobody-is-here' });
  await sweep();
  const half = { total: 2, succeeded: 1, failed: 0, skipped: 0 };
  expect(await on.read(forgotten)).toMatchObject({ status: 'aborted', counts: half, completedAt: expect.any(String) });
  expect(await on.read(held)).toMatchObject({ status: 'running', completedAt: null });

  const late = await on.lose(0);
  const cancelling = { action: 'cancel', runIds: ['nonsense'] };
  expect((await on.create(cancelling)).status).toBe(409);
  // Not seen by the watch for terminated workflows, as if no housekeeping had run then.
  await handle.terminate();
  await sweep();
  expect(await on.read(held)).toMatchObject({ status: 'aborted', counts: half });
  expect((await on.read(late)).status).toBe('running');
  expect((await on.create(cancelling)).status).toBe(202);
});
