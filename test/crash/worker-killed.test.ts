import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { newHold } from '../hold.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { Caller } from './caller.ts';
import { findViolations, modelCalls, openScene, type Scene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the worker that goes on with what the one before left is the next to die.
let scene: Scene;
let api: string;
let worker: ProductProcess;
beforeAll(async () => {
  scene = await openScene();
  [{ api }, worker] = await Promise.all([scene.product.start(['api']), scene.product.start(['runs'])]);
});
afterAll(() => scene.product.close());

async function replaceWorker(): Promise<void> {
  await worker.ended;
  worker = await scene.product.start(['runs']);
}

const idOf = (answer: { body: { data: { runId: string } } }) => runIds.parse(answer.body.data.runId)!;

/** The run's steps with their attempts, as the API returns them. */
async function attemptsOf(runId: string): Promise<{ status: string; attempts: Record<string, number> }> {
  const { status, stepResults } = (await scene.caller.read(api, runId)).body.data;
  const attempts = stepResults.map((step: { stepId: string; attempts: number }) => [step.stepId, step.attempts]);
  return { status, attempts: Object.fromEntries(attempts) };
}

/** The steps for which a model was called, in order. */
const callsOf = (runId: string) =>
  modelCalls(scene.product).flatMap((call) => (call.runId === runId ? [call.stepId] : []));

test('killed in step 2 of 3, which the activity of step 1 went on with: step 1 is not called again, and who waits is answered', async () => {
  const { product, caller } = scene;
  const hold = newHold(product.database);
  const workflowId = await caller.createWorkflow(api, [
    'sandbox:slow=0.1 Say {{input}}',
    `${hold.word} Think of it`,
    'Say it',
  ]);
  const before = modelCalls(product).length;
  const answered = caller.execute(api, workflowId, { wait: true });
  await until('step 2 is under way', async () =>
    modelCalls(product)
      .slice(before)
      .some(({ stepId }) => stepId === 'step2'),
  );
  await worker.kill();
  await hold.release();
  await replaceWorker();

  const answer = await answered;
  expect(answer).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
  const runId = idOf(answer);
  expect(await findViolations({ product, caller, api })).toEqual([]);
  expect(await attemptsOf(runId)).toEqual({ status: 'completed', attempts: { step1: 1, step2: 2, step3: 1 } });
  expect(callsOf(runId)).toEqual(['step1', 'step2', 'step2', 'step3']);
});

const slow = 'sandbox:slow=0.2 Think';
const fast = 'Say {{input}}';

/** Whether an unrecorded call was made is unknown: it is made again, and counted where it was announced. */
const deaths: { at: string; prompts: string[]; input?: string; calls: string[]; attempts: Record<string, number> }[] = [
  { at: 'step.called', prompts: [fast, fast], calls: ['step1', 'step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.called', prompts: [slow, fast], calls: ['step1', 'step1', 'step2'], attempts: { step1: 2, step2: 1 } },
  { at: 'step.recorded', prompts: [fast, slow], calls: ['step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.recorded', prompts: [slow, fast], calls: ['step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.recorded', prompts: [slow, slow], calls: ['step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.recorded', prompts: [fast], calls: ['step1'], attempts: { step1: 1 } },
  {
    at: 'file.stored',
    prompts: [`${slow} {{input}}`, 'Say it'],
    input: 'x'.repeat(300_000),
    calls: ['step1', 'step1', 'step2'],
    attempts: { step1: 2, step2: 1 },
  },
];

test.each(deaths)(
  'killed at $at of $prompts.0, with $prompts.length steps',
  async ({ at, prompts, input, ...expected }) => {
    const { product, caller } = scene;
    await worker.arm(at);
    const runId = idOf(await caller.execute(api, await caller.createWorkflow(api, prompts), { input }));
    await replaceWorker();

    expect(await findViolations({ product, caller, api })).toEqual([]);
    expect(await attemptsOf(runId)).toEqual({ status: 'completed', attempts: expected.attempts });
    expect(callsOf(runId)).toEqual(expected.calls);
  },
);

test('killed while some runs call and others wait for a slot: all of them end, in order', async () => {
  const { product } = scene;
  const { pool } = product.database;
  const hold = newHold(product.database);
  const tenant = await product.createTenant({ plan: 'free' });
  const caller = new Caller(tenant.testKey);
  // Calls that take no time would have no order: a run that is admitted later may call earlier.
  const workflowId = await caller.createWorkflow(api, [`${hold.word} sandbox:slow=5 {{input}}`]);
  await Promise.all(Array.from({ length: 12 }, () => caller.execute(api, workflowId)));
  const waiting = await until('the others wait', async () => {
    const { rows } = await pool.query<{ id: string }>(
      'select run_id as id from calling_run where organization_id = $1 and leased_until is null order by run_id',
      [organizationIds.parse(tenant.organizationId)],
    );
    return rows.length === 7 && rows.map(({ id }) => id);
  });
  await worker.kill();
  await hold.release();
  await replaceWorker();

  expect(await findViolations({ product, caller, api })).toEqual([]);
  const order = waiting.map((id) => modelCalls(product).findIndex(({ runId }) => runId === id));
  // Five at a time: within a handful the order is up to the worker.
  for (const [index, place] of order.entries()) {
    expect(order.slice(index + 5).filter((later) => later < place)).toEqual([]);
  }
});
