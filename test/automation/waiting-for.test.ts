import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
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
const compute = (id: string, expression: string) => ({ id, type: 'transform', expression });
const ask = (id: string, prompt: string) => ({ id, type: 'prompt', prompt });

async function start(steps: object[], client = api): Promise<{ workflowId: string; runId: string }> {
  const workflowId = await makeFlow(product, client, steps as Record<string, unknown>[]);
  const { body } = await client.post(`/api/v1/workflows/${workflowId}/execute`, { async: true, input: null }, inA);
  return { workflowId, runId: body.data.runId };
}

const detail = async (runId: string, headers = inA, client = api) =>
  (await client.get(`/api/v1/runs/${runId}`, headers)).body.data;
const waiting = (runId: string, client = api) =>
  until('the run waits', async () => (await detail(runId, inA, client)).waitingFor);

test('a run shows what it waits for while all that is open waits: in its detail and in lists', async () => {
  const child = (await makeWorkflow(api, { steps: [{ id: 'nap', type: 'wait', for: 600 }] })).id;
  const event = `order.paid_${randomUUID().slice(0, 8)}`;
  const branches = [
    { id: 'a', steps: [{ id: 'nap', type: 'wait', for: '2d' }] },
    { id: 'b', steps: [{ id: 'paid', type: 'event', event, timeout: 3_600 }] },
    { id: 'c', steps: [{ id: 'may', type: 'approval', message: 'May I?' }] },
    { id: 'd', steps: [{ id: 'sub', type: 'workflow', workflowId: child }] },
  ];
  const { workflowId, runId } = await start([{ id: 'all', type: 'parallel', branches }]);
  const waits = await waiting(runId);
  const time = expect.any(String);
  expect(waits).toEqual([
    { type: 'wait', stepId: 'nap', path: ['all', 'a', 'nap'], since: time, until: time },
    { type: 'event', stepId: 'paid', path: ['all', 'b', 'paid'], since: time, until: time },
    { type: 'approval', stepId: 'may', path: ['all', 'c', 'may'], since: time, until: time, approvalId: time },
    { type: 'workflow', stepId: 'sub', path: ['all', 'd', 'sub'], since: time, runId: time },
  ]);
  expect(Date.parse(waits[0].until) - Date.parse(waits[0].since)).toBeGreaterThan(47 * 3_600_000);
  const approval = (await api.get(`/api/v1/approvals/${waits[2].approvalId}`, inA)).body.data;
  expect(approval).toMatchObject({ runId, status: 'pending' });
  await until('the child runs', async () => (await detail(waits[3].runId)).status === 'RUNNING');
  expect(await detail(waits[3].runId)).toMatchObject({ parentRunId: runId });

  const inOther = await detail(runId, inB);
  expect(inOther).toMatchObject({ status: 'running', waitingFor: [{}, {}, {}, {}] });
  expect(inOther.waitingFor[3].runId).toMatch(/^run_/);
  for (const path of [`/api/v1/workflows/${workflowId}/runs`, `/api/v1/runs?workflowId=${workflowId}`]) {
    expect((await api.get(path, inA)).body.data.runs[0]).toMatchObject({ waitingFor: waits });
  }
  await api.post(`/api/v1/runs/${runId}/cancel`, undefined, inA);
  await endOf(api, runId);
  expect(await detail(runId)).not.toHaveProperty('waitingFor');
});

test('a run with a step that is executed beside one that waits shows none, and at most ten are shown', async () => {
  const hold = newHold(product.database);
  const branches = [
    { id: 'a', steps: [{ id: 'nap', type: 'wait', for: 600 }] },
    { id: 'b', steps: [ask('busy', hold.word), compute('after', '1')] },
  ];
  const { runId } = await start([{ id: 'both', type: 'parallel', branches }]);
  const isBusy = (step: { stepId: string; status: string }) => step.stepId === 'busy' && step.status === 'running';
  const busy = await until('the call runs', async () => {
    const run = await detail(runId);
    return run.steps.some(isBusy) && run;
  });
  expect(busy).not.toHaveProperty('waitingFor');
  await hold.release();
  expect(await waiting(runId)).toHaveLength(1);

  const each = { id: 'each', type: 'map', items: '[1,2,3,4,5,6,7,8,9,10,11,12]', concurrency: 12 };
  const many = await start([{ ...each, steps: [{ id: 'nap', type: 'wait', for: 600 }] }]);
  expect(await waiting(many.runId)).toHaveLength(10);
  for (const id of [runId, many.runId]) await api.post(`/api/v1/runs/${id}/cancel`, undefined, inA);
});

test('begun runs that wait for slots of the plan say so', async () => {
  const client = apiClient(product.process.api, (await product.createTenant({ plan: 'pro' })).testKey);
  const each = (items: number, seconds: number) => ({
    id: 'each',
    type: 'map',
    items: JSON.stringify(Array(items).fill(0)),
    concurrency: 20,
    steps: [ask('next', `sandbox:slow=${seconds}`)],
  });
  const busy = [await start([each(20, 600)], client), await start([each(5, 600)], client)];
  const stepsOf = async ({ runId }: { runId: string }) => (await detail(runId, inA, client)).steps;
  await until('all slots are taken', async () => (await Promise.all(busy.map(stepsOf))).flat().length === 27);
  const flow = await start([compute('first', '1'), each(2, 1)], client);
  const linear = await start([compute('first', '1'), ask('next', 'sandbox:slow=1')], client);
  const since = expect.any(String);
  expect(await waiting(flow.runId, client)).toEqual([
    { type: 'slot', stepId: 'next', path: ['each', 0, 'next'], since },
    { type: 'slot', stepId: 'next', path: ['each', 1, 'next'], since },
  ]);
  expect(await waiting(linear.runId, client)).toEqual([{ type: 'slot', stepId: 'next', since }]);
  for (const { runId } of busy) await client.post(`/api/v1/runs/${runId}/cancel`, undefined, inA);
  for (const { runId } of [flow, linear]) {
    expect((await endOf(client, runId)).status).toBe('completed');
    expect(await detail(runId, inA, client)).not.toHaveProperty('waitingFor');
  }
});
