import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { ownEntryPoint, type ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { findViolations, modelCalls, openScene, type Scene, soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that goes on with what the one before left is the next to be stopped.
let scene: Scene;
let process: ProductProcess;
beforeAll(async () => {
  scene = await openScene();
});
afterAll(() => scene.product.close());

/**
 * Nothing was lost or done twice, as the next process sees it.
 * @param entryPoint by default one that is missed as late as usually: a process on a busy machine may seem dead for a moment,
 *   and then its calls are made anew
 */
async function expectNoViolations(entryPoint = ownEntryPoint): Promise<void> {
  process = await scene.product.start(['api', 'runs'], {}, entryPoint);
  expect(await findViolations({ ...scene, api: process.api })).toEqual([]);
}

/** The calls of models since there were so many. */
const callsSince = (before: number) => modelCalls(scene.product).slice(before);

test('the API stopped while 50 runs are queued: all of them end, none twice', async () => {
  const { product, caller } = scene;
  const first = await product.start(['api'], {}, ownEntryPoint);
  const workflowId = await caller.createWorkflow(first.api, ['One', 'sandbox:slow=0.3 Two', 'Three {{input}}']);
  // Ten at a time, which a busy machine takes too.
  for (let sent = 0; sent < 50; sent += 10) {
    const executing = Array.from({ length: 10 }, (_, index) =>
      caller.execute(first.api, workflowId, { input: sent + index }),
    );
    for (const { status } of await Promise.all(executing)) expect(status).toBe(200);
  }
  expect(await first.stop()).toBe(0);
  expect(modelCalls(product)).toEqual([]);

  expect(caller.acknowledged.size).toBe(50);
  await expectNoViolations();
  expect(modelCalls(product)).toHaveLength(150);
});

test('stopped while callers wait: each gets its run, none is cut off', async () => {
  const { caller } = scene;
  const workflowId = await caller.createWorkflow(process.api, ['sandbox:slow=4 One', 'Two {{input}}']);
  // On a busy machine a run may end before its process is stopped: then others are started.
  await until('it is stopped while callers wait', async () => {
    const first = process;
    const before = { calls: modelCalls(scene.product).length, runs: caller.acknowledged.size };
    const waiting = Array.from({ length: 10 }, (_, index) =>
      caller.execute(first.api, workflowId, { input: index, wait: true }),
    );
    await until('the runs are under way', async () => callsSince(before.calls).length >= 10);
    const stopped = first.stop();
    const answers = await Promise.all(waiting);
    const isLate = answers.some(({ status }) => status === 200);
    for (const { status, body } of isLate ? [] : answers) {
      expect({ status, body }).toMatchObject({ status: 202, body: { data: { status: 'running' } } });
    }
    // The worker lets the steps that are under way end.
    expect(await stopped).toBe(0);
    await expect(caller.execute(first.api, workflowId)).rejects.toThrow();

    expect(caller.acknowledged.size).toBe(before.runs + 10);
    await expectNoViolations(isLate ? ownEntryPoint : soonNoticed);
    expect(callsSince(before.calls)).toHaveLength(20);
    return !isLate;
  });
});

test('a step that takes longer than a worker has for draining is made anew by the next one', async () => {
  const { caller, product } = scene;
  const workflowId = await caller.createWorkflow(process.api, ['sandbox:slow=12 One']);
  // On a busy machine the step may end all the same: then another one is started.
  const runId = await until('it is stopped in the step', async () => {
    const before = modelCalls(product).length;
    const { body } = await caller.execute(process.api, workflowId);
    await until('the step is under way', async () => callsSince(before).length >= 1);
    expect(await process.stop()).toBe(0);
    const id = runIds.parse(body.data.runId)!;
    const ended = await product.database.pool.query('select from run where id = $1 and finished_at is not null', [id]);
    const isOver = ended.rowCount! > 0;

    await expectNoViolations(isOver ? soonNoticed : ownEntryPoint);
    return !isOver && id;
  });
  expect((await caller.read(process.api, runId)).body.data).toMatchObject({
    status: 'completed',
    stepResults: [{ stepId: 'step1', attempts: 2 }],
  });
});

test('a worker that stops hands a run back between two steps: none is interrupted', async () => {
  const { caller } = scene;
  const workflowId = await caller.createWorkflow(process.api, [
    'sandbox:slow=4 One',
    'sandbox:slow=1 Two',
    'sandbox:slow=1 Three',
    'sandbox:slow=1 Four',
  ]);
  // On a busy machine the second step may be called before the process is stopped: then another run is started.
  await until('it is stopped in the first step', async () => {
    const before = modelCalls(scene.product).length;
    await caller.execute(process.api, workflowId);
    await until('the first step is under way', async () => callsSince(before).length >= 1);
    const stoppedAt = new Date();
    expect(await process.stop()).toBe(0);
    const called = callsSince(before);
    const isLate = called.some(({ stepId, at }) => stepId !== 'step1' && at < stoppedAt);
    if (!isLate) expect(called.map(({ stepId }) => stepId)).toEqual(['step1']);

    await expectNoViolations();
    expect(callsSince(before).map(({ stepId, attempt }) => [stepId, attempt])).toEqual([
      ['step1', 1],
      ['step2', 1],
      ['step3', 1],
      ['step4', 1],
    ]);
    return !isLate;
  });
});
