import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { copyOfEarlierSources, versionsOf } from './earlier-sources.ts';
import { findViolations, modelCalls, openScene, type Scene } from './oracle.ts';
import { ownTemporal } from './own-servers.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let temporal: Awaited<ReturnType<typeof ownTemporal>>;
let scene: Scene;
let folder: string;
beforeAll(async () => {
  temporal = await ownTemporal();
  folder = mkdtempSync(join(tmpdir(), 'atelier-earlier-'));
  const env = { TEMPORAL_ADDRESS: temporal.address, WORKFLOW_BUNDLE_DIR: join(folder, 'bundles') };
  scene = await openScene({ env });
});
afterAll(async () => {
  await scene.product.close();
  await temporal.close();
  rmSync(folder, { recursive: true, force: true });
});

const bundles = () => readdirSync(join(folder, 'bundles')).sort();

test('runs that were in flight end with the code they began with, new ones use the new code', async () => {
  const { product, caller } = scene;
  const earlier = await product.start(['api', 'runs'], {}, copyOfEarlierSources(folder));
  const oldBundle = bundles();
  expect(oldBundle).toHaveLength(1);
  const oldVersion = oldBundle[0]!.slice(0, 16);
  const parked = await caller.createWorkflow(earlier.api, ['sandbox:slow=4 One', 'Two', 'Three']);
  const quick = await caller.createWorkflow(earlier.api, ['One', 'Two']);
  expect(await caller.execute(earlier.api, quick, { wait: true })).toMatchObject({ status: 200 });
  await Promise.all([...Array(3)].map(() => caller.execute(earlier.api, parked)));
  await until('the runs are parked', async () => modelCalls(product).length === 2 + 3);
  const before = [...caller.acknowledged];
  // At once and together, so that visibility has the least time to hear of these runs.
  await Promise.all([earlier.kill(), temporal.kill()]);
  await temporal.start();

  const { api, log } = await product.start(['api', 'runs']);
  await until('the earlier version is served', async () =>
    log.some(({ msg, version }) => msg === 'finishing runs of an earlier version' && version === oldVersion),
  );
  // Before anything else: on a busy machine the old runs end, and their bundle goes, while new ones are made.
  const newVersion = bundles()
    .find((name) => name !== oldBundle[0])!
    .slice(0, 16);
  for (let index = 0; index < 20; index++) {
    expect(await caller.execute(api, quick, { wait: true })).toMatchObject({ status: 200 });
  }
  expect(await findViolations({ product, caller, api, temporalAddress: temporal.address })).toEqual([]);
  const expected = [...caller.acknowledged].map((runId) => [runId, before.includes(runId) ? oldVersion : newVersion]);
  expect(await versionsOf(temporal.address, caller.acknowledged)).toEqual(Object.fromEntries(expected));
  await until('the old bundle is removed', async () => bundles().length === 1, 60_000);
  expect(bundles()).toEqual([`${newVersion}.js`]);
});
