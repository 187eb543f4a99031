import { expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import type { Caller } from './caller.ts';
import { findViolations, modelCalls, withScene } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// All at the same time, because most of it is waiting: Temporal misses a dead worker only after 10 s.

/** The run's steps with their attempts, as the API tells them. */
async function attemptsOf(caller: Caller, api: string): Promise<{ status: string; attempts: Record<string, number> }> {
  const [runId] = caller.acknowledged;
  const { status, stepResults } = (await caller.read(api, runId!)).body.data;
  const attempts = stepResults.map((step: { stepId: string; attempts: number }) => [step.stepId, step.attempts]);
  return { status, attempts: Object.fromEntries(attempts) };
}

test.concurrent('killed in step 2 of 3: step 1 is not called again, and who waits is answered', () =>
  withScene(async ({ product, caller }) => {
    const { api } = await product.start(['api']);
    const doomed = await product.start(['runs']);
    const workflowId = await caller.createWorkflow(api, ['Say {{input}}', 'sandbox:slow=2 Think of it', 'Say it']);
    const answered = caller.execute(api, workflowId, { wait: true });
    const inStep2 = () => modelCalls(product).some(({ stepId }) => stepId === 'step2');
    await until('step 2 is under way', async () => inStep2());
    await doomed.kill();
    await product.start(['runs']);

    expect(await answered).toMatchObject({ status: 200, body: { data: { status: 'completed' } } });
    expect(await findViolations({ product, caller, api })).toEqual([]);
    expect(await attemptsOf(caller, api)).toEqual({ status: 'completed', attempts: { step1: 1, step2: 2, step3: 1 } });
    expect(modelCalls(product).map(({ stepId }) => stepId)).toEqual(['step1', 'step2', 'step2', 'step3']);
  }));

const slow = 'sandbox:slow=0.2 Think';
const fast = 'Say {{input}}';

/** Nobody can tell whether a call that was not recorded was made: it is made again, and counted where it was announced. */
const deaths: { at: string; prompts: string[]; calls: string[]; attempts: Record<string, number> }[] = [
  { at: 'step.called', prompts: [fast, fast], calls: ['step1', 'step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.called', prompts: [slow, fast], calls: ['step1', 'step1', 'step2'], attempts: { step1: 2, step2: 1 } },
  { at: 'step.recorded', prompts: [fast, slow], calls: ['step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.recorded', prompts: [slow, fast], calls: ['step1', 'step2'], attempts: { step1: 1, step2: 1 } },
  { at: 'step.recorded', prompts: [fast], calls: ['step1'], attempts: { step1: 1 } },
];

test.concurrent.each(deaths)(
  'killed at $at of $prompts.0, with $prompts.length steps',
  ({ at, prompts, ...expected }) =>
    withScene(async ({ product, caller }) => {
      const { api } = await product.start(['api']);
      const doomed = await product.start(['runs'], { FAIL_POINT: at });
      await caller.execute(api, await caller.createWorkflow(api, prompts));
      await doomed.ended;
      await product.start(['runs']);

      expect(await findViolations({ product, caller, api })).toEqual([]);
      expect(await attemptsOf(caller, api)).toEqual({ status: 'completed', attempts: expected.attempts });
      expect(modelCalls(product).map(({ stepId }) => stepId)).toEqual(expected.calls);
    }),
);
