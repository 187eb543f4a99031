import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { findViolations, modelCalls, openScene, type Scene } from './oracle.ts';
import { ownTemporal } from './own-servers.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let scene: Scene;
beforeAll(async () => {
  temporal = await ownTemporal();
  scene = await openScene({ env: { TEMPORAL_ADDRESS: temporal.address } });
});
afterAll(async () => {
  await scene.product.close();
  await temporal.close();
});

test('Temporal killed with runs in flight, parked in slow steps and newly arriving: each one ends once', async () => {
  const { product, caller } = scene;
  const { api, log } = await product.start(['api', 'runs']);
  const logged = (message: string) => log.some(({ msg }) => msg === message);
  const parked = await caller.createWorkflow(api, ['Say {{input}}', 'sandbox:slow=6 Think', 'Say it']);
  const quick = await caller.createWorkflow(api, ['One', 'Two', 'Three']);
  const execute = (workflowId: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => caller.execute(api, workflowId)));

  await execute(parked, 5);
  const parkedNow = () => modelCalls(product).filter(({ stepId }) => stepId === 'step2').length;
  await until('the runs are parked', async () => parkedNow() >= 5);
  // Killed under the starts of these, wherever each of them is by then.
  const inFlight = execute(quick, 10);
  await until('a quick run is under way', async () => modelCalls(product).length > 10);
  await temporal.kill();

  for (const { status } of await inFlight) expect(status).toBe(200);
  for (const { status } of await execute(quick, 10)) expect(status).toBe(200);
  await until('starts are given up', async () => logged('background work failed; the drain will retry it'));
  await temporal.start();
  for (const { status } of await execute(quick, 5)) expect(status).toBe(200);

  const waited = await caller.execute(api, quick, { wait: true });
  expect(waited).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  expect(caller.acknowledged.size).toBe(31);
  const { address: temporalAddress } = temporal;
  expect(await findViolations({ product, caller, api, temporalAddress })).toEqual([]);
});
