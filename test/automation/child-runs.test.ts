import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  api = apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };
const run = (workflowId: string, more: object = {}) => ({ id: 'child', type: 'workflow', workflowId, ...more });

async function start(id: string, input: unknown = null): Promise<string> {
  return (await api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inA)).body.data.runId;
}
const execute = async (steps: object[], input?: unknown) =>
  endOf(api, await start(await makeFlow(product, api, steps as Record<string, unknown>[]), input));

const childrenOf = async (runId: string) => {
  const { rows } = await product.database.pool.query(
    'select id, status, depth, parent_path from run where parent_run_id = $1 order by id',
    [runId.includes('_') ? runId.slice(4) : runId],
  );
  return rows;
};

test('a step waits for the run that it starts, and has its result', async () => {
  const { id } = await makeWorkflow(api, { steps: [{ id: 'twice', type: 'transform', expression: 'input * 2' }] });
  const each = { id: 'each', type: 'map', items: 'input', steps: [run(id, { input: '{{item}}' })] };
  const parent = await execute([each], [1, 2, 3]);
  expect(parent).toMatchObject({ status: 'completed', output: { result: { outputs: [2, 4, 6] } } });
  const children = await childrenOf(parent.runId);
  expect(children.map(({ depth, status }) => [depth, status])).toEqual(
    Array.from({ length: 3 }, () => [2, 'completed']),
  );
  expect(children.map((child) => child.parent_path).sort()).toEqual(['each.0.child', 'each.1.child', 'each.2.child']);
});

test('a step that detaches has the id of the run, and does not wait', async () => {
  const { id } = await makeWorkflow(api, 'sandbox:slow=60');
  const parent = await execute([run(id, { mode: 'detach', input: 'x' })]);
  const [child] = await childrenOf(parent.runId);
  expect(parent.output.result).toEqual({ runId: child.id });
  await api.post(`/api/v1/runs/${child.id}/cancel`, {}, inB);
});

test('a step executes the version that it names, and fails where there is none', async () => {
  const { id } = await makeWorkflow(api, { steps: [{ id: 'say', type: 'transform', expression: '1' }] });
  await api.patch(`/api/v1/workflows/${id}`, { steps: [{ id: 'say', type: 'transform', expression: '2' }] }, inA);
  const results = [];
  for (const version of [1, 2, undefined]) results.push((await execute([run(id, { version })])).output.result);
  expect(results).toEqual([1, 2, 2]);
  const { error } = await execute([run(id, { version: 9 })]);
  expect(error).toMatchObject({ code: 'child_failed', details: { runId: null, code: 'validation_error' } });
});

test('a run that fails, or that cannot be started, fails the step', async () => {
  const { id } = await makeWorkflow(api, 'sandbox:fail');
  const failed = await execute([run(id, { input: 'x' })]);
  expect(failed.error).toMatchObject({ stepId: 'child', code: 'child_failed' });
  const unknown = await execute([run('00000000-0000-7000-8000-000000000000')]);
  expect(unknown.error).toMatchObject({ stepId: 'child', code: 'child_failed' });
  expect(await childrenOf(unknown.runId)).toEqual([]);
});

test('runs that start themselves end at the fifth', async () => {
  const id = await makeFlow(product, api, [{ id: 'one', type: 'transform', expression: '1' }]);
  await product.database.pool.query(
    `update definition set steps = $2::json where id = (select definition_id from automation where id = $1)`,
    [id, JSON.stringify([run(id)])],
  );
  const parent = await endOf(api, await start(id));
  expect(parent.error).toMatchObject({ code: 'child_failed' });
  const { rows } = await product.database.pool.query(
    `select depth, error_code from run where automation_id = $1 order by depth`,
    [id],
  );
  expect(rows.map(({ depth, error_code: code }) => [depth, code])).toEqual([
    ...[1, 2, 3, 4].map((depth) => [depth, 'child_failed']),
    [5, 'too_deep'],
  ]);
});

test('the end of a run is that of the runs that it waits for', async () => {
  const { id } = await makeWorkflow(api, 'sandbox:slow=600');
  const parentId = await start(await makeFlow(product, api, [run(id, { input: 'x' })]));
  const begun = await until('the child runs', async () => {
    const [child] = await childrenOf(parentId);
    return child?.status === 'running' && child;
  });
  await api.post(`/api/v1/runs/${parentId}/cancel`, {}, inB);
  expect((await endOf(api, begun.id)).status).toBe('cancelled');
});

test('a run lends its slot to the runs that it waits for, and has it back before others begin', async () => {
  const { id } = await makeWorkflow(api, {
    steps: [{ id: 'next', type: 'transform', expression: 'input + 1' }],
    concurrency: { limit: 1, strategy: 'queue' },
  });
  const steps = [
    { id: 'next', type: 'transform', expression: 'input + 1' },
    { id: 'goes_on', type: 'condition', expression: 'steps.next.output < 3', else: 'last' },
    run(id, { input: '{{steps.next.output}}' }),
    { id: 'last', type: 'transform', expression: 'input' },
  ];
  expect((await api.patch(`/api/v1/workflows/${id}`, { steps }, inA)).status).toBe(200);
  const started = [await start(id, 0), await start(id, 0)];
  for (const runId of started) expect((await endOf(api, runId)).status).toBe('completed');
  const { rows } = await product.database.pool.query(
    'select depth, status from run where automation_id = $1 order by finished_at',
    [id],
  );
  expect(rows).toHaveLength(6);
  expect(rows.every(({ status }) => status === 'completed')).toBe(true);
});
