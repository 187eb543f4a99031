import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient, untilTaken } from '../api-client.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { soonNoticed } from '../crash/oracle.ts';
import { successorOf } from '../crash/successor.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
const roles: RoleName[] = ['api', 'runs', 'generation'];
const api = () => apiClient(process.api, tenant.testKey);

beforeAll(async () => {
  product = await openProduct({ entryPoint: soonNoticed });
  process = await product.start(roles);
  tenant = await product.createTenant({ plan: 'pro' });
});
afterAll(() => product.close());

/** Kills the process at a fail point of a flow, starts another one, and waits for the run's end. */
async function killedAt(at: string, steps: object[]) {
  const id = await makeFlow(product, api(), steps as Record<string, unknown>[]);
  const body = { input: [1, 2, 3], async: true };
  const { runId } = (await api().post(`/api/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' })).body.data;
  // Its first step waits until then, so that the process does not die before it has answered.
  await until('the run waits', async () => {
    const { rows } = await product.database.pool.query('select waiting_since from run where id = $1', [uuidOf(runId)]);
    return rows[0].waiting_since !== null;
  });
  await process.arm(at);
  // It may die before it has answered this.
  const died = { status: 0 };
  await untilTaken('the event', () =>
    api()
      .post('/api/v1/events', { name: 'armed', data: {} })
      .catch(() => died),
  );
  process = await successorOf(process, product, roles);
  return endOf(api(), runId);
}

const uuidOf = (runId: string) => (runId.startsWith('run_') ? runId.slice(4) : runId);

/** What was recorded of the run: the attempts and the end of each step. */
const stepsOf = async (runId: string) => {
  const { rows } = await product.database.pool.query(
    'select path, status, attempts from run_step where run_id = $1 order by path',
    [uuidOf(runId)],
  );
  return rows as { path: string; status: string; attempts: number }[];
};

const before = { id: 'before', type: 'event', event: 'armed' };
const compute = { id: 'one', type: 'transform', expression: '1' };
const ask = { id: 'ask', type: 'prompt', prompt: 'sandbox:slow=1 {{input}}' };
const each = (...steps: object[]) => ({ id: 'each', type: 'map', items: 'input', steps });
const both = {
  id: 'both',
  type: 'parallel',
  branches: [
    { id: 'left', steps: [ask] },
    { id: 'right', steps: [compute] },
  ],
};

test.each([
  ['a map', 'step.recorded', each(compute, ask)],
  ['a map', 'step.called', each(ask)],
  ['branches', 'step.called', both],
  ['branches', 'step.recorded', both],
  ['waits', 'step.recorded', each({ id: 'nap', type: 'wait', for: 2 }, compute)],
])('%s, killed at %s: no finished step is executed again, and the run completes', async (_, at, step) => {
  const run = await killedAt(at, [before, step, { id: 'after', type: 'transform', expression: '"done"' }]);
  expect([run.status, run.output?.result]).toEqual(['completed', 'done']);
  const steps = await stepsOf(run.runId);
  expect(steps.filter(({ status }) => status !== 'completed')).toEqual([]);
  // Those that were under way were begun again, and nothing else.
  const again = steps.filter(({ attempts }) => attempts > 1).map(({ path }) => path.split('.').at(-1));
  expect(again.filter((id) => id !== 'ask')).toEqual([]);
});

test.each(['run.committed', 'run.started', 'step.recorded'])(
  'a run that a step starts, killed at %s: there is one, and its result arrives',
  async (at) => {
    const { id } = await makeWorkflow(api(), { steps: [{ id: 'size', type: 'transform', expression: 'size(input)' }] });
    const child = { id: 'child', type: 'workflow', workflowId: id, input: '{{input}}' };
    const run = await killedAt(at, [before, child]);
    expect([run.status, run.output?.result]).toEqual(['completed', 3]);
    const { rows } = await product.database.pool.query('select status from run where automation_id = $1', [id]);
    expect(rows).toEqual([{ status: 'completed' }]);
  },
);
