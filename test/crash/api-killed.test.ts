import { expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { inB } from './caller.ts';
import { findViolations, modelCalls, type Scene, withScene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// All at the same time, because most of it is waiting: the outbox gives a dead writer 5 s, Temporal a dead worker 10 s.

const idempotencyKey = 'order-4711';

/** A process dies at the fail point while it answers an execute; another one takes its place. */
async function dieAt(failPoint: string, { product, caller }: Scene) {
  const doomed = await product.start(['api', 'runs'], { FAIL_POINT: failPoint });
  const workflowId = await caller.createWorkflow(doomed.api, ['Say {{input}}', 'Say it louder']);
  await expect(caller.execute(doomed.api, workflowId, { wait: true, idempotencyKey })).rejects.toThrow();
  await doomed.ended;
  const { api } = await product.start(['api', 'runs']);
  return {
    api,
    listRuns: async () => (await caller.at(api).get(`/api/v1/workflows/${workflowId}/runs`, inB)).body.data,
    /** The client does what every client does after a broken connection: the same request once more. */
    retry: () => caller.execute(api, workflowId, { wait: true, idempotencyKey }),
  };
}

test.concurrent('killed before the commit: nothing exists, and the retry makes one run', () =>
  withScene(async (scene) => {
    const { api, listRuns, retry } = await dieAt('run.before-commit', scene);
    expect(await listRuns()).toMatchObject({ total: 0, runs: [] });
    const answer = await retry();
    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    expect(await listRuns()).toMatchObject({ total: 1 });
    expect(await findViolations({ ...scene, api })).toEqual([]);
  }));

test.concurrent.each<string>(['run.committed', 'run.started'])(
  'killed at %s: another process does the run, once',
  (at) =>
    withScene(async (scene) => {
      const { api, listRuns, retry } = await dieAt(at, scene);
      const orphans = await listRuns();
      expect(orphans.total).toBe(1);
      // Before anybody asks again: the run does not need its client.
      await until('the orphaned run ends', async () => (await listRuns()).runs[0].status === 'completed');

      const answer = await retry();
      expect(answer).toMatchObject({
        status: 200,
        body: { data: { runId: orphans.runs[0].runId, status: 'completed' } },
      });
      expect(answer.headers.get('idempotent-replayed')).toBe('true');
      expect(await listRuns()).toMatchObject({ total: 1 });
      expect(await findViolations({ ...scene, api })).toEqual([]);
      expect(modelCalls(scene.product).map(({ stepId }) => stepId)).toEqual(['step1', 'step2']);
    }),
);

test.concurrent('retries that come before the run was taken up wait for that same run', () =>
  withScene(async (scene) => {
    const { api, listRuns, retry } = await dieAt('run.committed', scene);
    const [first, second] = await Promise.all([retry(), retry()]);
    expect(first).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
    expect(second.body).toEqual(first.body);
    expect(await listRuns()).toMatchObject({ total: 1 });
    expect(await findViolations({ ...scene, api })).toEqual([]);
  }));
