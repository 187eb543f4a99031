import { afterEach, expect, test } from '@jest/globals';
import type { FailPoint } from '../../src/platform/fail-points.ts';
import { inB } from '../make-workflow.ts';
import { until } from '../until.ts';
import { findViolations, modelCalls, openScene } from './oracle.ts';

type Scene = Awaited<ReturnType<typeof openScene>>;
let scene: Scene | undefined;
afterEach(async () => {
  await scene?.product.close();
});

const idempotencyKey = 'order-4711';

/** A process dies at the fail point while it answers an execute; another one takes its place. */
async function dieAt(failPoint: FailPoint) {
  scene = await openScene();
  const { product, caller } = scene;
  const doomed = await product.start(['api', 'runs'], { FAIL_POINT: failPoint });
  const workflowId = await caller.createWorkflow(doomed.api, ['Say {{input}}', 'Say it louder']);
  await expect(caller.execute(doomed.api, workflowId, { wait: true, idempotencyKey })).rejects.toThrow();
  await doomed.ended;
  const { api } = await product.start(['api', 'runs']);
  const listRuns = async () => (await caller.at(api).get(`/api/v1/workflows/${workflowId}/runs`, inB)).body.data;
  return { product, caller, api, workflowId, listRuns };
}

/** The client does what every client does after a broken connection: the same request once more. */
async function retry({ caller, api, workflowId }: Awaited<ReturnType<typeof dieAt>>) {
  return caller.execute(api, workflowId, { wait: true, idempotencyKey });
}

test('killed before the commit: nothing exists, and the retry makes one run', async () => {
  const after = await dieAt('run.before-commit');
  expect(await after.listRuns()).toMatchObject({ total: 0, runs: [] });
  const answer = await retry(after);
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  expect(answer.headers.get('idempotent-replayed')).toBeNull();
  expect(await after.listRuns()).toMatchObject({ total: 1 });
  expect(await findViolations(after)).toEqual([]);
});

test.each<FailPoint>(['run.committed', 'run.started'])(
  'killed at %s: the run is done once, by another process',
  async (failPoint) => {
    const after = await dieAt(failPoint);
    const orphans = await after.listRuns();
    expect(orphans.total).toBe(1);
    // Before anybody asks again: the run does not need its client.
    await until('the orphaned run ends', async () => (await after.listRuns()).runs[0].status === 'completed');

    const answer = await retry(after);
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { runId: orphans.runs[0].runId, status: 'completed' } },
    });
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(await after.listRuns()).toMatchObject({ total: 1 });
    expect(await findViolations(after)).toEqual([]);
    expect(modelCalls(after.product).map(({ stepId }) => stepId)).toEqual(['step1', 'step2']);
  },
);

test('a retry that comes before the run was taken up waits for that same run', async () => {
  const after = await dieAt('run.committed');
  const [first, second] = await Promise.all([retry(after), retry(after)]);
  expect(first).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  expect(second.body).toEqual(first.body);
  expect(await after.listRuns()).toMatchObject({ total: 1 });
  expect(await findViolations(after)).toEqual([]);
});
