import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import type { RoleName } from '../../workers/roles.ts';
import { apiClient } from '../api-client.ts';
import { endOf, inB, makeWorkflow } from '../automation/make-workflow.ts';
import type { FakeHubSpot } from '../fakes/hubspot.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import type { Product, Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { type HubSpotScene, openHubSpotScene } from './hubspot-scene.ts';
import { successorOf } from './successor.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

// One after the other: the process that takes the place of the one before is the next to die.
let scene: HubSpotScene;
let product: Product;
let tenant: Tenant;
let process: ProductProcess;
let hubspot: FakeHubSpot;
const roles: RoleName[] = ['api', 'runs', 'generation'];
const sandbox = () => apiClient(process.api, tenant.testKey);
/** Its provider does something for each request. */
const live = () => apiClient(process.api, tenant.liveKey);

beforeAll(async () => {
  scene = await openHubSpotScene(roles);
  ({ hubspot, product, tenant, process } = scene);
});
afterAll(() => scene.close());

/** Kills the process at a fail point of a run with one step, starts another one, and waits for the run's end. */
async function killedAt(at: string, client: typeof live, step: object) {
  const { id } = await makeWorkflow(client(), { steps: [{ id: 'use', ...step }] });
  await process.arm(at);
  // The process may die before it has answered.
  await client()
    .post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, inB)
    .catch(() => {});
  process = await successorOf(process, product, roles);
  const { rows } = await product.database.pool.query('select id from run where automation_id = $1', [id]);
  expect(rows).toHaveLength(1);
  return endOf(client(), runIds.format(rows[0].id));
}

const using = (prompt: string, server = 'memory') => ({ type: 'prompt', prompt, tools: [server] });
const create = (name: string) =>
  `sandbox:tool=memory_create_entities ${JSON.stringify({ entities: [{ name, entityType: 'test', observations: [] }] })}`;

async function calls(): Promise<number> {
  const audited = `select count(*)::int as calls from audit_log where action = 'tool.call'`;
  return (await product.database.pool.query(audited)).rows[0].calls;
}

test.each([
  ['step.round_recorded', false],
  ['step.tool_called', true],
])('killed at %s: a tool that may not be repeated is called once', async (at, isUnknown) => {
  const before = await calls();
  const { status, stepResults } = await killedAt(at, sandbox, using(create(at)));
  expect([status, stepResults[0].toolCalls.length, await calls()]).toEqual(['completed', 1, before + 1]);
  expect(stepResults[0].toolCalls[0].result === 'The outcome of this call is unknown.').toBe(isUnknown);
});

test('killed while a tool is called that may be repeated: it is called again', async () => {
  const before = await calls();
  const { stepResults } = await killedAt(
    'step.tool_called',
    sandbox,
    using('sandbox:tool=memory_read_graph Once more'),
  );
  expect(stepResults[0].toolCalls).toEqual([
    { name: 'memory_read_graph', args: {}, result: expect.stringContaining('step.') },
  ]);
  expect(await calls()).toBe(before + 1);
});

let actions = 0;

test.each(['action.answered', 'step.tool_called'])(
  'killed at %s: an action that a model calls is one action',
  async (at) => {
    await connectInSandbox(sandbox(), process.api, 'slack');
    const payload = { channel: at, text: 'Green.' };
    const asking = `sandbox:tool=slack_send_message ${JSON.stringify(payload)}`;
    const { status, stepResults } = await killedAt(at, sandbox, using(asking, 'integration:slack'));
    expect([status, JSON.parse(stepResults[0].toolCalls[0].result).channel]).toEqual(['completed', at]);
    const performed = `select status from integration_action where integration = 'slack' and environment = 'test'`;
    const { rows } = await product.database.pool.query(performed);
    expect(rows).toEqual(Array.from(rows, () => ({ status: 'completed' })));
    expect(rows).toHaveLength(++actions);
  },
);

test.each([
  ['action.answered', 'failed'],
  ['step.called', 'completed'],
])('killed at %s: the action is performed once, and its step has %s', async (at, expected) => {
  const asked = () => hubspot.journal.filter(({ endpoint }) => endpoint === 'api').length;
  const before = asked();
  const payload = { properties: { email: `${at}@example.com` } };
  // The step may try again: what is unknown is not tried again all the same.
  const retry = { maxAttempts: 5 };
  const step = { type: 'action', integration: 'hubspot', action: 'create_contact', payload, retry };
  const run = await killedAt(at, live, step);
  expect([run.status, asked() - before]).toEqual([expected, 1]);
  if (expected === 'failed') expect(run.error).toMatchObject({ stepId: 'use', code: 'action_failed' });
  else expect(run.output.result).toMatchObject({ id: expect.any(String) });
});
