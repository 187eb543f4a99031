import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization, updateOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { untilDayHasRoom } from '../tenancy/rate-windows.ts';
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
  const { id } = await makeWorkflow(api, 'sandbox:slow=600');
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
  const [child] = await childrenOf(failed.runId);
  expect(failed.error).toMatchObject({
    stepId: 'child',
    code: 'child_failed',
    details: { runId: child.id, code: 'service_unavailable' },
  });
  const needing = await makeWorkflow(api, { inputs: [{ name: 'city', type: 'string', required: true }] });
  const inactive = await makeWorkflow(api);
  await api.patch(`/api/v1/workflows/${inactive.id}`, { isActive: false }, inA);
  for (const [workflowId, code] of [
    ['00000000-0000-7000-8000-000000000000', 'workflow_not_found'],
    [needing.id, 'validation_error'],
    [inactive.id, 'workflow_inactive'],
  ] as const) {
    const refused = await execute([run(workflowId)]);
    expect(refused.error).toMatchObject({ stepId: 'child', code: 'child_failed', details: { runId: null, code } });
    expect(await childrenOf(refused.runId)).toEqual([]);
  }
});

test('it names the runs above it, has their tags and metadata, and is found by the run that started it', async () => {
  const { id: last } = await makeWorkflow(api, { steps: [{ id: 'one', type: 'transform', expression: '1' }] });
  const middle = await makeFlow(product, api, [run(last)]);
  const first = await makeFlow(product, api, [run(middle)]);
  const body = { async: true, tags: ['family'], metadata: { customer: 7 } };
  const { runId } = (await api.post(`/api/v1/workflows/${first}/execute`, body, inA)).body.data;
  expect((await endOf(api, runId)).status).toBe('completed');
  const above: string[] = [runId];
  const found = async (parentRunId: string) =>
    (await api.get(`/api/v1/runs?parentRunId=${parentRunId}`, inA)).body.data.runs as { id: string }[];
  for (const workflowId of [middle, last]) {
    const [child, ...others] = await found(above.at(-1)!);
    const shown = {
      workflowId,
      parentRunId: above.at(-1),
      rootRunId: runId,
      tags: ['family'],
      metadata: { customer: 7 },
    };
    const triggeredBy = { type: 'workflow', runId: above.at(-1), stepId: 'child' };
    expect([child, others]).toMatchObject([{ ...shown, triggeredBy }, []]);
    expect((await api.get(`/api/v1/runs/${child!.id}`, inA)).body.data).toMatchObject({ ...shown, triggeredBy });
    above.push(child!.id);
  }
  const top = (await api.get(`/api/v1/runs/${runId}`, inB)).body.data;
  expect(top).not.toHaveProperty('rootRunId');
  const inOther = (await api.get(`/api/v1/runs/${above.at(-1)}`, inB)).body.data;
  expect(inOther.rootRunId).toBe(top.runId);
});

test('it counts as a run of the day, and the step fails when that is used up', async () => {
  await untilDayHasRoom(60);
  const plan = { name: 'Daily', plan: 'team', rateDay: 5 };
  const { id: organizationId } = await createOrganization(product.database, plan);
  const { key } = await createKey(product.database, { organizationId, environment: 'test' });
  const own = apiClient(product.process.api, key);
  const { id } = await makeWorkflow(own, { steps: [{ id: 'one', type: 'transform', expression: 'input' }] });
  const children = [run(id, { input: '{{item}}' })];
  const each = { id: 'each', type: 'map', items: '[1, 2, 3]', mode: 'settled', concurrency: 1, steps: children };
  const parent = await makeFlow(product, own, [each]);
  // The third request: two runs are left.
  const { runId } = (await own.post(`/api/v1/workflows/${parent}/execute`, { async: true }, inA)).body.data;
  await until('the run has ended', async () => {
    const { rows } = await product.database.pool.query('select from run where id = $1 and finished_at is not null', [
      runId,
    ]);
    return rows.length === 1;
  });
  await updateOrganization(product.database, organizationId, { rateDay: 1_000 });
  const { output, stepResults } = await endOf(own, runId);
  expect(output.result).toMatchObject({ outputs: [1, 2, null], succeeded: 2, failed: 1 });
  const refused = stepResults.find(({ path }: { path?: unknown[] }) => path?.[1] === 2);
  expect(refused.error).toMatchObject({
    code: 'child_failed',
    details: { runId: null, code: 'rate_limit_exceeded' },
  });
  expect(await childrenOf(runId)).toHaveLength(2);
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

test('a workflow that is deleted takes the runs with it that its runs wait for', async () => {
  const { id } = await makeWorkflow(api, 'sandbox:slow=600');
  const workflowId = await makeFlow(product, api, [run(id, { input: 'x' })]);
  const parentId = await start(workflowId);
  const begun = await until('the child runs', async () => {
    const [child] = await childrenOf(parentId);
    return child?.status === 'running' && child;
  });
  expect((await api.delete(`/api/v1/workflows/${workflowId}`)).status).toBe(200);
  expect((await endOf(api, begun.id)).status).toBe('cancelled');
});

test.each(['skip', 'cancel_running'])(
  'runs above a run do not keep it from starting where %s is the rule',
  async (strategy) => {
    const next = { id: 'next', type: 'transform', expression: 'input + 1' };
    const { id } = await makeWorkflow(api, { steps: [next], concurrency: { limit: 1, strategy } });
    const steps = [
      next,
      { id: 'goes_on', type: 'condition', expression: 'steps.next.output < 3', else: 'end' },
      run(id, { input: '{{steps.next.output}}' }),
    ];
    expect((await api.patch(`/api/v1/workflows/${id}`, { steps }, inA)).status).toBe(200);
    const ended = await endOf(api, await start(id, 0));
    expect([ended.status, ended.output?.result]).toEqual(['completed', 3]);
  },
);

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
