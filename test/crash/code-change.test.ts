import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { copyOfEarlierSources, openVersionScene, type VersionScene, versionsOf } from './earlier-sources.ts';
import { findViolations, modelCalls } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let versions: VersionScene;
beforeAll(async () => {
  versions = await openVersionScene();
});
afterAll(() => versions.close());

test('runs that were in flight end with the code they began with, new ones use the new code', async () => {
  const { scene, temporal, folder, bundles } = versions;
  const { product, caller } = scene;
  const entry = copyOfEarlierSources(folder);
  let earlier = await product.start(['api', 'runs'], {}, entry);
  const oldBundle = bundles();
  expect(oldBundle).toHaveLength(1);
  const oldVersion = oldBundle[0]!;
  const parked = await caller.createWorkflow(earlier.api, ['sandbox:slow=6 One', 'Two', 'Three']);
  const quick = await caller.createWorkflow(earlier.api, ['One', 'Two']);
  expect(await caller.execute(earlier.api, quick, { wait: true })).toMatchObject({ status: 200 });
  // On a busy machine runs may end before their process dies: then others are parked.
  await until('runs are parked when their process dies', async () => {
    const calls = modelCalls(product).length;
    await Promise.all([...Array(3)].map(() => caller.execute(earlier.api, parked)));
    await until('the runs are parked', async () => modelCalls(product).length >= calls + 3);
    // At once and together, so that visibility has the least time to hear of these runs.
    await Promise.all([earlier.kill(), temporal.kill()]);
    await temporal.start();
    const { rowCount } = await product.database.pool.query('select from run where finished_at is null');
    if (rowCount! >= 3) return true;
    earlier = await product.start(['api', 'runs'], {}, entry);
    return false;
  });
  const before = [...caller.acknowledged];

  versions.takeBuiltBundle();
  const { api, log } = await product.start(['api', 'runs']);
  await until('the earlier version is served', async () =>
    log.some(({ msg, version }) => msg === 'finishing runs of an earlier version' && version === oldVersion),
  );
  // Before anything else: on a busy machine the old runs end, and their bundle goes, while new ones are made.
  const newVersion = bundles().find((version) => version !== oldVersion)!;
  for (let index = 0; index < 20; index++) {
    expect(await caller.execute(api, quick, { wait: true })).toMatchObject({ status: 200 });
  }
  expect(await findViolations({ product, caller, api, temporalAddress: temporal.address })).toEqual([]);
  const expected = [...caller.acknowledged].map((runId) => [runId, before.includes(runId) ? oldVersion : newVersion]);
  expect(await versionsOf(temporal.address, caller.acknowledged)).toEqual(Object.fromEntries(expected));
  await until('the old bundle is removed', async () => bundles().length === 1);
  expect(bundles()).toEqual([newVersion]);
});
