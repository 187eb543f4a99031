import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';
import { soonNoticed } from './oracle.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
const start = () => product.start(['api', 'runs', 'generation']);
const client = (): ApiClient => apiClient(process.api, tenant.testKey);
beforeAll(async () => {
  product = await openProduct({ entryPoint: soonNoticed, env: secrets });
  [process, tenant] = [await start(), await product.createTenant({ plan: 'enterprise' })];
});
afterAll(() => product.close());

async function calls(): Promise<number> {
  const audited = `select count(*)::int as calls from audit_log where action = 'tool.call'`;
  return (await product.database.pool.query(audited)).rows[0].calls;
}

/** Kills the process at a fail point of a run with one step, starts another one, and waits for the run's end. */
async function killedAt(at: string, prompt: string) {
  const steps = [{ id: 'use', type: 'prompt', prompt, tools: ['memory'] }];
  const { id } = await makeWorkflow(client(), { steps });
  await process.arm(at);
  const { body } = await client().post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, inB);
  await process.ended;
  process = await start();
  return until('the run ends', async () => {
    const run = (await client().get(`/api/v1/runs/${body.data.runId}`, inB)).body.data;
    return run.status !== 'running' && run.status !== 'queued' && run;
  });
}

const create = (name: string) =>
  `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [{ name, entityType: 'test', observations: [] }] })}`;
const unknown = 'The outcome of this call is unknown.';

test.each([
  ['step.round_recorded', 1, false],
  ['step.tool_begun', 0, true],
  ['step.tool_called', 1, true],
])('killed at %s: a tool that may not be repeated is called %i times', async (at, times, isUnknown) => {
  const before = await calls();
  const { status, stepResults } = await killedAt(at, create(at));
  expect([status, stepResults[0].toolCalls.length]).toEqual(['completed', 1]);
  expect(stepResults[0].toolCalls[0].result === unknown).toBe(isUnknown);
  expect(await calls()).toBe(before + times);
});

test('killed while a tool is called that may be repeated: it is called again', async () => {
  const before = await calls();
  const { stepResults } = await killedAt('step.tool_called', 'sandbox:tool=memory_read_graph Once more');
  expect(stepResults[0].toolCalls).toEqual([
    { name: 'memory_read_graph', args: {}, result: expect.stringContaining('step.') },
  ]);
  expect(await calls()).toBe(before + 2);
});
