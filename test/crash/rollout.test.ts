import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { copyOfEarlierSources, openVersionScene, type VersionScene, versionsOf } from './earlier-sources.ts';
import { findViolations, modelCalls } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(400_000);

let versions: VersionScene;
beforeAll(async () => {
  versions = await openVersionScene();
});
afterAll(() => versions.close());

test('200 runs in flight survive a rollout of changed workflow code and its rollback', async () => {
  const { scene, temporal, folder, bundles } = versions;
  const { product, caller } = scene;
  const oldEntry = copyOfEarlierSources(folder);
  const before = await product.start(['api', 'runs'], {}, oldEntry);
  const [oldVersion] = bundles();
  const workflowId = await caller.createWorkflow(before.api, ['One', 'sandbox:slow=20 Two {{input}}', 'Three']);
  /** Starts runs and waits until each has got as far as its slow step. @returns their ids */
  const startRuns = async (api: string, count: number): Promise<string[]> => {
    const known = new Set(caller.acknowledged);
    const calls = modelCalls(product).length;
    for (let n = 0; n < count; n += 10) {
      await Promise.all(
        Array.from({ length: 10 }, (_, index) => caller.execute(api, workflowId, { input: n + index })),
      );
    }
    await until('their first steps are done', async () => modelCalls(product).length >= calls + count, 120_000);
    return [...caller.acknowledged].filter((runId) => !known.has(runId));
  };
  const ofOld = await startRuns(before.api, 100);
  expect(await before.stop()).toBe(0);

  const rolledOut = await product.start(['api', 'runs']);
  const newVersion = bundles().find((version) => version !== oldVersion);
  const ofNew = await startRuns(rolledOut.api, 100);
  expect(await rolledOut.stop()).toBe(0);

  const rolledBack = await product.start(['api', 'runs'], {}, oldEntry);
  const ofOldAgain = await startRuns(rolledBack.api, 10);
  expect(
    await findViolations({
      ...{ product, caller, api: rolledBack.api, temporalAddress: temporal.address },
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
