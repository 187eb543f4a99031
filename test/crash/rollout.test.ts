import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { copyOfEarlierSources, openVersionScene, type VersionScene, versionsOf } from './earlier-sources.ts';
import { findViolations, modelCalls } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(400_000);

let versions: VersionScene;
let oldEntry: string;
beforeAll(async () => {
  versions = await openVersionScene();
  oldEntry = copyOfEarlierSources(versions.folder);
});
afterAll(() => versions.close());

test('200 runs in flight survive a rollout of changed workflow code and its rollback', async () => {
  const { scene, temporal, bundles } = versions;
  const { product, caller } = scene;
  const before = await product.start(['api', 'runs'], {}, oldEntry);
  const [oldVersion] = bundles();
  const workflowId = await caller.createWorkflow(before.api, ['One', 'sandbox:slow=8 Two {{input}}', 'Three']);
  /** Starts runs and waits until each has got as far as its slow step. @returns their ids */
  const startRuns = async (api: string, count: number): Promise<string[]> => {
    const known = new Set(caller.acknowledged);
    for (let n = 0; n < count; n += 10) {
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => caller.execute(api, workflowId, { input: n + index })),
      );
    }
    const started = [...caller.acknowledged].filter((runId) => !known.has(runId));
    const isSlow = async () => {
      const called = modelCalls(product).filter(({ stepId }) => stepId === 'step2');
      const there = new Set(called.map(({ runId }) => runId));
      return started.every((runId) => there.has(runId));
    };
    await until('each is in its slow step', isSlow, 120_000);
    return started;
  };
  const ofOld = await startRuns(before.api, 100);
  expect(await before.stop()).toBe(0);

  versions.takeBuiltBundle();
  const rolledOut = await product.start(['api', 'runs']);
  const newVersion = bundles().find((version) => version !== oldVersion);
  const ofNew = await startRuns(rolledOut.api, 100);
  expect(await rolledOut.stop()).toBe(0);

  const rolledBack = await product.start(['api', 'runs'], {}, oldEntry);
  const ofOldAgain = await startRuns(rolledBack.api, 10);
  expect(
    await findViolations({
      product,
      caller,
      api: rolledBack.api,
      temporalAddress: temporal.address,
      withinMs: 200_000,
    }),
  ).toEqual([]);
  const begunOn = await versionsOf(temporal.address, caller.acknowledged);
  const of = (runIds: string[], version: string | undefined) =>
    runIds.filter((runId) => begunOn[runId] === version).length;
  expect(of(ofOld, oldVersion)).toBe(100);
  // Temporal takes a moment to send new runs to the version that became the current one.
  expect(of(ofNew, newVersion) + of(ofNew, oldVersion)).toBe(100);
  expect(of(ofNew, newVersion)).toBeGreaterThan(50);
  expect(of(ofOldAgain, newVersion) + of(ofOldAgain, oldVersion)).toBe(10);
  const { rows } = await product.database.pool.query('select status, count(*)::int from run group by status');
  expect(rows).toEqual([{ status: 'completed', count: 210 }]);
});

test('an API process that runs on starts its runs on the version that another process promoted', async () => {
  const { scene, temporal } = versions;
  const { product, caller } = scene;
  await Promise.all(product.processes.map((one) => one.kill()));
  const apis = (await Promise.all([1, 2].map(() => product.start(['api', 'runs'], {}, oldEntry)))).map(
    ({ api }) => api,
  );
  const workflowId = await caller.createWorkflow(apis[0]!, ['One']);
  /** Executes the workflow some times through each of the two. @returns the versions that the runs began on */
  const versionsOfNext = async (count: number): Promise<Set<string | null | undefined>> => {
    const known = new Set(caller.acknowledged);
    for (let n = 0; n < count; n++) {
      for (const api of apis) {
        expect(await caller.execute(api, workflowId, { wait: true })).toMatchObject({ status: 200 });
      }
    }
    const runIds = [...caller.acknowledged].filter((runId) => !known.has(runId));
    return new Set(Object.values(await versionsOf(temporal.address, runIds)));
  };
  const beginOn = (version: string | null | undefined) => async () => {
    const versionsNow = await versionsOfNext(1);
    return versionsNow.size === 1 && versionsNow.has(version);
  };
  const [oldVersion, ...others] = await versionsOfNext(5);
  expect(others).toEqual([]);

  const promoting = await product.start(['runs']);
  const promotion = await until('its promotion is logged', async () =>
    promoting.log.find(({ msg }) => msg === 'workers of this version take what starts from now on'),
  );
  const newVersion = promotion.buildId as string;
  expect(newVersion).not.toBe(oldVersion);
  // Temporal takes a moment to send new runs to the version that became the current one.
  await until('runs begin on the new version', beginOn(newVersion));
  expect([...(await versionsOfNext(10))]).toEqual([newVersion]);

  await product.start(['runs'], {}, oldEntry);
  await until('runs begin on the old version again', beginOn(oldVersion));
  expect([...(await versionsOfNext(10))]).toEqual([oldVersion]);
});
