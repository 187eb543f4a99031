import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { connectInSandbox } from './connect-in-sandbox.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };

async function newTenant({ connects = false } = {}) {
  const { testKey, liveKey, organizationId } = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(product.process.api, testKey);
  if (connects) await connectInSandbox(api, product.process.api, 'slack');
  return { api, live: apiClient(product.process.api, liveKey), organizationId };
}

const servers = ['integration:slack'];
const send = (payload: object) => `sandbox:tool=slack_send_message ${JSON.stringify(payload)}`;
const prompt = (text: string) => ({ id: 'say', type: 'prompt', prompt: text, tools: servers });

async function run(api: ApiClient, step: object) {
  const { id } = await makeWorkflow(api, { steps: [step] });
  const { runId } = (await api.post(`/v1/workflows/${id}/execute`, { async: true, input: null }, inA)).body.data;
  return endOf(api, runId);
}

const actionsOf = async (organizationId: string): Promise<unknown[]> => {
  const text = 'select integration, action, status from integration_action where organization_id = $1';
  return (await product.database.pool.query(text, [organizationIds.parse(organizationId)])).rows;
};

test('the model of a step sees the actions of a connected integration, and a call of one is an action', async () => {
  const { api, organizationId } = await newTenant({ connects: true });
  const { status, stepResults } = await run(api, prompt(send({ channel: 'C1', text: 'Green.' })));
  expect(status).toBe('completed');
  const args = { channel: 'C1', text: 'Green.' };
  expect(stepResults[0].toolCalls).toEqual([{ name: 'slack_send_message', args, result: expect.any(String) }]);
  expect(JSON.parse(stepResults[0].toolCalls[0].result)).toEqual({ channel: 'C1', ts: expect.any(String) });
  expect(await actionsOf(organizationId)).toEqual([
    { integration: 'slack', action: 'send_message', status: 'completed' },
  ]);
});

test('the model gets the refusal of an action, and the step continues', async () => {
  const { api } = await newTenant({ connects: true });
  const results = async (payload: object) => {
    const { status, stepResults } = await run(api, prompt(send(payload)));
    return [status, stepResults[0].toolCalls[0]];
  };
  const wrong = expect.objectContaining({ result: expect.stringContaining('does not fit the action. channel: ') });
  expect(await results({ text: 'Nowhere.' })).toEqual(['completed', wrong]);
  const failed = expect.objectContaining({ result: expect.stringContaining('sandbox_failure') });
  expect(await results({ channel: 'C1', text: 'sandbox:fail' })).toEqual(['completed', failed]);
});

test('in chat it costs what other tools cost, and the action is free', async () => {
  const { api, organizationId } = await newTenant({ connects: true });
  const balance = async () => (await api.get('/api/v1/credits')).body.data.balance;
  const before = await balance();
  const content = send({ channel: 'C2', text: 'Hello.' });
  const { status, body } = await api.post('/api/chat', { messages: [{ role: 'user', content }], mcpServers: servers });
  expect([status, body.data.toolCalls[0].name]).toEqual([200, 'slack_send_message']);
  const { status: byAgent } = await api.post('/api/agents/chat', {
    message: content,
    systemPrompt: 'You are terse.',
    mcpServers: servers,
  });
  expect([byAgent, before - (await balance()), (await actionsOf(organizationId)).length]).toEqual([200, 4, 2]);
});

test('test keys have all integrations; live keys those that are connected; no key has others', async () => {
  const { api, live, organizationId } = await newTenant();
  const { status, stepResults } = await run(api, prompt(send({ channel: 'C1', text: 'Green.' })));
  expect([status, JSON.parse(stepResults[0].toolCalls[0].result).channel]).toEqual(['completed', 'C1']);
  expect(await actionsOf(organizationId)).toEqual([]);
  const save = (on: ApiClient, tools: string[]) =>
    on.post('/v1/workflows', { name: 'x', steps: [{ ...prompt('Hello.'), tools }] }, inA);
  const errorsOf = async (answer: ReturnType<typeof save>) => (await answer).body.error.details.errors;
  expect(await errorsOf(save(live, ['integration:slack']))).toEqual([
    { path: 'steps.0.tools.0', message: 'slack is not connected.' },
  ]);
  expect(await errorsOf(save(api, ['memory', 'integration:dance']))).toMatchObject([{ path: 'steps.0.tools.1' }]);
  expect(await errorsOf(save(api, ['outlook:mail']))).toMatchObject([{ path: 'steps.0.tools.0' }]);
  const asked = { messages: [{ role: 'user', content: 'Hello.' }], mcpServers: ['integration:slack'] };
  expect(await live.post('/api/chat', asked)).toMatchObject({ status: 400, body: { success: false } });
});

test('naming one needs the scope integrations, of the key that saves the step or asks', async () => {
  const { organizationId } = await newTenant();
  const scopes = ['workflows:read', 'workflows:write', 'chat'];
  const { key } = await createKey(product.database, { organizationId, environment: 'test', scopes });
  const api = apiClient(product.process.api, key);
  const inMap = { id: 'each', type: 'map', items: 'input', steps: [prompt('Hello.')] };
  const saved = await api.post('/v1/workflows', { name: 'x', steps: [inMap] }, inA);
  expect([saved.status, saved.body.error.details]).toEqual([403, { required: 'integrations' }]);
  const asked = [
    await api.post('/api/chat', { messages: [{ role: 'user', content: 'Hello.' }], mcpServers: servers }),
    await api.post('/api/agents/chat', { message: 'Hello.', systemPrompt: 'Terse.', mcpServers: servers }),
  ];
  for (const { status, body } of asked) {
    expect([status, JSON.stringify(body.error)]).toEqual([403, expect.stringContaining('scope integrations')]);
  }
});

test('in a test run the sandbox answers, and no action is stored', async () => {
  const { api, organizationId } = await newTenant({ connects: true });
  const { id } = await makeWorkflow(api, { steps: [prompt(send({ channel: 'C1', text: 'Green.' }))] });
  const { status, body } = await api.post(`/v1/workflows/${id}/test`, { input: null }, inA);
  expect([status, body.data.status]).toEqual([200, 'COMPLETED']);
  expect(JSON.parse(body.data.steps[0].toolCalls[0].result)).toMatchObject({ channel: 'C1' });
  expect(await actionsOf(organizationId)).toEqual([]);
});
