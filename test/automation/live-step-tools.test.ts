import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type LiveAdapter, type LiveFakes, liveAdapters, startLiveFakes } from '../fakes/live-adapters.ts';
import type { SaidCall } from '../fakes/wire-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

/**
 * Steps of live keys that use tools, with the providers' wire formats on loopback. Models are asked in one process and tools
 * are called in another.
 */

let product: Product;
let live: ApiClient;
let fakes: LiveFakes;
const fakeOf = (provider: string) => fakes.of(provider);

beforeAll(async () => {
  fakes = await startLiveFakes();
  product = await openProduct({ env: { ...secrets, ...fakes.env } });
  const [front] = await Promise.all([product.start(['api', 'runs']), product.start(['generation'])]);
  live = apiClient(front.api, (await product.createTenant({ plan: 'enterprise' })).liveKey);
  await live.request('PUT', '/api/v1/tools/memory', { enabled: true });
});
beforeEach(() => fakes.reset());
afterAll(async () => {
  await product.close();
  await fakes.close();
});

async function ended(id: string) {
  const { runId } = (await live.post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, inB)).body.data;
  return endOf(live, runId);
}
const stepOf = (more: object) => ({ id: 'say', type: 'prompt', prompt: 'What is there?', tools: ['memory'], ...more });
const run = async (more: object) => ended((await makeWorkflow(live, { steps: [stepOf(more)] })).id);

const readGraph: SaidCall = { name: 'memory_read_graph', args: {} };
const spent = { inputTokens: 10, outputTokens: 5 };

test.each(liveAdapters)(
  '$provider is given back what it said, and its tokens are counted',
  async (adapter: LiveAdapter) => {
    const { provider, model } = adapter;
    const tokens = (await live.get('/api/v1/usage')).body.data.tokens;
    const six = Array.from({ length: 6 }, () => readGraph);
    const used = { inputTokens: 20, outputTokens: 7 };
    fakeOf(provider).next(
      { say: { text: 'Let me look.', calls: six, ...spent, thinkingTokens: 1 } },
      { say: { text: 'There is nothing yet.', ...used } },
    );
    const { output, stepResults } = await run({ provider, model });
    const [said] = stepResults;
    expect([output.result, said.toolCalls.length, said.attempts, said.model]).toEqual([
      'There is nothing yet.',
      5,
      1,
      model,
    ]);
    // The fake refuses a history whose signatures it did not make.
    expect(fakeOf(provider).journal.map(({ worked }) => worked)).toEqual([true, true]);
    expect(JSON.stringify(fakeOf(provider).journal.at(-1))).toContain('Too many calls in one round.');
    expect([said.tokensUsed, (await live.get('/api/v1/usage')).body.data.tokens]).toEqual([42, tokens + 42]);
  },
);

test('a fallback is asked before tools were called, and none after', async () => {
  const [first, second] = [liveAdapters[1]!, liveAdapters[2]!];
  const busy = { status: 503, headers: { 'content-type': 'application/json' }, body: { error: { message: 'busy' } } };
  fakeOf(first.provider).next({ fail: busy }, { fail: busy }, { fail: busy });
  fakeOf(second.provider).next(
    { say: { text: '', calls: [readGraph], ...spent } },
    { fail: busy },
    { say: { text: 'Nothing.', ...spent } },
  );
  const { provider, model } = first;
  const fallback = [{ provider: second.provider, model: second.model }];
  const { output, stepResults } = await run({ provider, model, fallback });
  const [said] = stepResults;
  expect([output.result, said.toolCalls.length, said.attempts, said.model]).toEqual(['Nothing.', 1, 2, second.model]);
  expect([fakeOf(first.provider).journal.length, fakeOf(second.provider).journal.length]).toEqual([1, 3]);
});

test('with a schema the model is asked for JSON after its tools', async () => {
  const { provider, model } = liveAdapters[1]!;
  fakeOf(provider).next(
    { say: { text: '', calls: [readGraph], ...spent } },
    { say: { text: 'There are three.', ...spent } },
    { say: { text: '{"count": 3}', ...spent } },
  );
  const outputSchema = { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] };
  const { output, stepResults } = await run({ provider, model, outputSchema });
  expect([output.result, stepResults[0].tokensUsed]).toEqual([{ count: 3 }, 45]);
  expect(JSON.stringify(fakeOf(provider).journal.at(-1))).toContain('There are three.');
});

test('a server that is not configured any more fails the step, in words', async () => {
  const { provider, model } = liveAdapters[1]!;
  const { id } = await makeWorkflow(live, { steps: [stepOf({ provider, model, retry: { maxAttempts: 2 } })] });
  await live.request('PUT', '/api/v1/tools/memory', { enabled: false });
  const { status, error } = await ended(id);
  expect([status, error]).toEqual([
    'failed',
    { stepId: 'say', code: 'service_unavailable', message: 'The tool server memory is not available.' },
  ]);
  expect(fakeOf(provider).journal).toEqual([]);
});
