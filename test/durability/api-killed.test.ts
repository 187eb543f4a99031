import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { inB } from '../crash/caller.ts';
import { findViolations, modelCalls, openScene, type Scene } from '../crash/oracle.ts';
import { endGrace } from '../crash/successor.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let scene: Scene;
let process: ProductProcess;
beforeAll(async () => {
  scene = await openScene();
  process = await scene.product.start(['api', 'runs']);
});
afterAll(() => scene.product.close());

const idempotencyKey = 'order-4711';

/**
 * A process dies at the fail point while it answers an execute; another one takes its place.
 * @param isTakenUpSoon whether what the dead one committed is left alone for no time
 */
async function dieAt(failPoint: string, isTakenUpSoon = true) {
  const { product, caller } = scene;
  const workflowId = await caller.createWorkflow(process.api, ['Say {{input}}', 'Say it louder']);
  await process.arm(failPoint);
  await expect(caller.execute(process.api, workflowId, { wait: true, idempotencyKey })).rejects.toThrow();
  await process.ended;
  if (isTakenUpSoon) await endGrace(product);
  process = await product.start(['api', 'runs']);
  const { api } = process;
  return {
    listRuns: async () => (await caller.at(api).get(`/api/v1/workflows/${workflowId}/runs`, inB)).body.data,
    /** The client does what every client does after a broken connection: the same request once more. */
    retry: () => caller.execute(api, workflowId, { wait: true, idempotencyKey }),
  };
}

const violations = () => findViolations({ ...scene, api: process.api });

test('killed before the commit: nothing exists, and the retry makes one run', async () => {
  const { listRuns, retry } = await dieAt('run.before-commit');
  expect(await listRuns()).toMatchObject({ total: 0, runs: [] });
  const answer = await retry();
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
  expect(await listRuns()).toMatchObject({ total: 1 });
  expect(await violations()).toEqual([]);
});

test.each(['run.committed', 'run.started'])('killed at %s: another process does the run, once', async (at) => {
  const { listRuns, retry } = await dieAt(at);
  const orphans = await listRuns();
  expect(orphans.total).toBe(1);
  const [{ runId }] = orphans.runs;
  // Before anybody asks again: the run does not need its client.
  await until('the orphaned run ends', async () => (await listRuns()).runs[0].status === 'completed');

  const answer = await retry();
  expect(answer).toMatchObject({ status: 200, body: { data: { runId, status: 'completed' } } });
  expect(answer.headers.get('idempotent-replayed')).toBe('true');
  expect(await listRuns()).toMatchObject({ total: 1 });
  expect(await violations()).toEqual([]);
  const calls = modelCalls(scene.product).filter((call) => call.runId === runIds.parse(runId));
  expect(calls.map(({ stepId }) => stepId)).toEqual(['step1', 'step2']);
});

test('retries that come before the run was taken up wait for that same run', async () => {
  const { listRuns, retry } = await dieAt('run.committed', false);
  const [first, second] = await Promise.all([retry(), retry()]);
  expect(first).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  expect(second.body).toEqual(first.body);
  expect(await listRuns()).toMatchObject({ total: 1 });
  expect(await violations()).toEqual([]);
});
