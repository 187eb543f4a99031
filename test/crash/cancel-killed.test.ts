import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { ownEntryPoint } from '../product-process.ts';
import { type TemporalView, viewTemporal } from '../temporal-view.ts';
import { until } from '../until.ts';
import { modelCalls, openScene, type Scene } from './oracle.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: Scene;
let temporal: TemporalView;
beforeAll(async () => {
  scene = await openScene();
  temporal = await viewTemporal();
});
afterAll(async () => {
  await temporal.close();
  await scene.product.close();
});

test('killed between the commit of a cancellation and the notification of Temporal: the run is cancelled, and stopped all the same', async () => {
  const { product, caller } = scene;
  // One that is missed as late as usually: to Temporal, a process on a busy machine may seem dead, and its call is made anew.
  await product.start(['runs'], {}, ownEntryPoint);
  const doomed = await product.start(['api'], { FAIL_POINT: 'run.cancelled' }, ownEntryPoint);
  const workflowId = await caller.createWorkflow(doomed.api, ['sandbox:slow=600 One', 'Two']);
  const runId = runIds.parse((await caller.execute(doomed.api, workflowId)).body.data.runId)!;
  await until('the model is called', async () => modelCalls(product).length === 1);
  await expect(caller.at(doomed.api).post(`/api/v1/runs/${runId}/cancel`)).rejects.toThrow();

  const { api } = await successorOf(doomed, product, ['api']);
  const { data } = (await caller.read(api, runId)).body;
  expect(data).toMatchObject({ status: 'cancelled', stepResults: [{ status: 'cancelled' }, { status: 'skipped' }] });
  await until('Temporal has stopped it', async () => (await temporal.statusOf(runId)) === 'CANCELLED');
  await until(
    'nothing is owed any more',
    async () => (await product.database.pool.query('select from outbox')).rowCount === 0,
  );
  expect(modelCalls(product)).toHaveLength(1);
  expect((await caller.read(api, runId)).body.data).toEqual(data);
});
