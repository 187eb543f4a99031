import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, inB, makeWorkflow } from '../automation/make-workflow.ts';
import { anthropicError } from '../fakes/anthropic.ts';
import { type LiveAdapter, type LiveFakes, liveAdapters, startLiveFakes } from '../fakes/live-adapters.ts';
import type { SaidCall } from '../fakes/wire-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

/** Runs of live keys, with the providers' wire formats on loopback: the product's own processes, the real SDKs. */

// A product of its own: the fake providers answer and record the requests of one file.
let product: Product;
let processes: ProductProcess[];
let tenant: Tenant;
let live: ApiClient;
let fakes: LiveFakes;
const fakeOf = (provider: string) => fakes.of(provider);
const allFakes = () => liveAdapters.map(({ provider }) => fakeOf(provider));

beforeAll(async () => {
  fakes = await startLiveFakes();
  product = await openProduct({ env: { ...secrets, ...fakes.env, MODEL_ALIASES: '{"house-model": "gpt-6-luna"}' } });
  processes = await Promise.all([product.start(['api', 'runs']), product.start(['generation'])]);
  tenant = await product.createTenant({ plan: 'enterprise' });
  live = apiClient(processes[0]!.api, tenant.liveKey);
});
beforeEach(() => fakes.reset());
afterAll(async () => {
  await product.close();
  await fakes.close();
});

async function run({ provider, model }: Pick<LiveAdapter, 'provider' | 'model'>, input: string) {
  const steps = [{ id: 'say', type: 'prompt' }];
  const { id } = await makeWorkflow(live, { aiProvider: provider, aiModel: model, steps });
  const answer = await live.post(`/v1/workflows/${id}/execute`, { input });
  const { runs } = (await live.get(`/v1/workflows/${id}/runs`)).body.data;
  return { answer, run: (await live.get(`/v1/runs/${runs[0].id}`)).body.data };
}

test('the models are listed with who serves them, those of the operator too', async () => {
  const { status, body } = await live.get('/api/v1/models');
  expect(status).toBe(200);
  const { models } = body.data;
  expect(new Set(models.map(({ id }: { id: string }) => id)).size).toBe(models.length);
  const named = (id: string) => models.find((model: { id: string }) => model.id === id);
  expect(named('gemini-2.0-flash')).toEqual({
    id: 'gemini-2.0-flash',
    provider: 'GOOGLE',
    upstream: 'gemini-3.5-flash-lite',
    maxOutputTokens: 65_536,
    available: true,
  });
  expect(named('house-model')).toMatchObject({ provider: 'OPENAI', upstream: 'gpt-6-luna', available: true });
  expect((await live.get('/v1/models')).body).toEqual(body);
});

describe('a run of a live key', () => {
  test.each(liveAdapters)('asks $provider once, and counts its tokens', async (adapter) => {
    const fake = fakeOf(adapter.provider);
    fake.next({ say: { text: 'Of course.', inputTokens: 12, outputTokens: 3 } });
    const { answer } = await run(adapter, 'Do it, please.');
    expect(answer).toMatchObject({ status: 200, body: { data: { output: 'Of course.', tokensUsed: 15 } } });
    expect(fake.journal).toHaveLength(1);
    expect(JSON.stringify(fake.journal[0]!.body)).toContain('Do it, please.');
  });

  test('of the published default is served by its successor', async () => {
    const { id } = await makeWorkflow(live);
    expect(await live.post(`/v1/workflows/${id}/execute`, { input: 'x' })).toMatchObject({ status: 200 });
    expect(fakeOf('ANTHROPIC').journal[0]!.body.model).toBe('claude-sonnet-5-5');
  });

  test('waits as long as the provider asks, and asks again', async () => {
    const fake = fakeOf('ANTHROPIC');
    fake.next({ fail: anthropicError(429, 'rate_limit_error', 'x', { headers: { 'retry-after': '2' } }) });
    const { answer } = await run({ provider: 'ANTHROPIC', model: 'claude-haiku-5-5' }, 'x');
    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
    const [first, second, ...more] = fake.journal;
    expect(more).toEqual([]);
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(1_900);
  });

  test('is asked again when the work was done and the answer was lost', async () => {
    const fake = fakeOf('ANTHROPIC');
    fake.next('lose the answer', { say: { text: 'Once more.' } });
    const { answer, run: done } = await run({ provider: 'ANTHROPIC', model: 'claude-haiku-5-5' }, 'x');
    expect(answer).toMatchObject({ status: 200, body: { data: { output: 'Once more.' } } });
    expect(fake.journal.map(({ worked }) => worked)).toEqual([true, true]);
    // An unknown charge cannot be counted.
    expect(done.tokensUsed).toBe(answer.body.data.tokensUsed);
  });

  test('fails at once if another attempt would not help, and never shows a key', async () => {
    const fake = fakeOf('OPENAI');
    const { answer, run: failed } = await run({ provider: 'OPENAI', model: 'gpt-3.5-turbo' }, 'x');
    expect(answer.status).toBe(500);
    expect(failed).toMatchObject({ status: 'FAILED' });
    expect(JSON.stringify(failed)).toContain('The operator of this installation');
    expect(fake.journal).toHaveLength(1);
    const written = processes.map(({ log, errors }) => [log, errors]);
    const seen = JSON.stringify([answer.body, failed, written]);
    for (const { apiKey, origin } of allFakes()) {
      expect(seen).not.toContain(apiKey);
      expect(seen).not.toContain(origin);
    }
  });
});

describe('a step with fallbacks', () => {
  const openai = { provider: 'OPENAI', model: 'gpt-4.1' };
  const google = { provider: 'GOOGLE', model: 'gemini-3.8-flash' };
  const overloaded = { fail: anthropicError(529, 'overloaded_error', 'Overloaded') };

  async function runStep(more: object) {
    const steps = [{ id: 'say', type: 'prompt', model: 'claude-haiku-5-5', ...more }];
    const { id } = await makeWorkflow(live, { steps });
    const answer = await live.post(`/v1/workflows/${id}/execute`, { input: 'x' });
    const runId = answer.body.data?.runId ?? answer.body.error.details.runId;
    return { answer, run: (await live.get(`/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body.data };
  }

  test('asks the next model when one is overloaded, and says who answered', async () => {
    fakeOf('ANTHROPIC').next(overloaded);
    fakeOf('OPENAI').next({ fail: { status: 500, body: { error: { message: 'no', type: 'server_error' } } } });
    const { answer, run: done } = await runStep({ fallback: [openai, google] });
    expect(answer.status).toBe(200);
    expect(done.stepResults).toMatchObject([{ ...google, attempts: 1, status: 'completed' }]);
    const error = { code: 'service_unavailable', message: expect.stringMatching(/HTTP 5/) };
    const claude = { provider: 'ANTHROPIC', model: 'claude-haiku-5-5' };
    expect(done.stepResults[0].models).toEqual([{ ...claude, error }, { ...openai, error }, google]);
    expect(['ANTHROPIC', 'OPENAI', 'GOOGLE'].map((name) => fakeOf(name).journal.length)).toEqual([1, 1, 1]);
  });

  test('does not when the request itself is at fault', async () => {
    fakeOf('ANTHROPIC').next({ fail: anthropicError(400, 'invalid_request_error', 'messages: wrong') });
    const { answer, run: failed } = await runStep({ fallback: [openai] });
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'ai_provider_error' } } });
    expect(failed.error).toMatchObject({ stepId: 'say', code: 'service_unavailable' });
    expect(fakeOf('OPENAI').journal).toEqual([]);
  });

  test('starts again from the first when all of them fail, as often as the step says', async () => {
    fakeOf('ANTHROPIC').next(overloaded, overloaded);
    const busy = {
      fail: { status: 429, body: { error: { message: 'busy', type: 'rate_limit', code: 'rate_limit' } } },
    };
    fakeOf('OPENAI').next(busy, busy);
    const { run: failed } = await runStep({ fallback: [openai], retry: { maxAttempts: 2 } });
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'service_unavailable' } });
    expect(failed.stepResults[0].attempts).toBe(2);
    expect(failed.stepResults[0].models).toMatchObject([{ error: {} }, { error: {} }]);
    expect([fakeOf('ANTHROPIC'), fakeOf('OPENAI')].map(({ journal }) => journal.length)).toEqual([2, 2]);
  });
});

describe('a step with an outputSchema', () => {
  const outputSchema = {
    type: 'object',
    properties: { age: { type: 'integer', minimum: 18 } },
    required: ['age'],
    additionalProperties: false,
  };
  const steps = [{ id: 'who', type: 'prompt', prompt: 'How old?', model: 'claude-haiku-5-5', outputSchema }];
  const execute = async () => {
    const { id } = await makeWorkflow(live, { steps });
    return live.post(`/v1/workflows/${id}/execute`, { input: 'x' });
  };

  test('has its answer mended once', async () => {
    const fake = fakeOf('ANTHROPIC');
    fake.next(
      { say: { text: '{"age": 7}', inputTokens: 10, outputTokens: 5 } },
      { say: { text: '{"age": 70}', inputTokens: 20, outputTokens: 5 } },
    );
    const answer = await execute();
    expect(answer).toMatchObject({ status: 200, body: { data: { output: '{"age":70}', tokensUsed: 40 } } });
    expect(JSON.stringify(fake.journal[1]!.body.messages)).toMatch(/age must be >= 18/);
  });

  test('fails when it is wrong again', async () => {
    fakeOf('ANTHROPIC').next({ say: { text: 'seven' } }, { say: { text: '{"age": 7}' } });
    const answer = await execute();
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'internal_error' } } });
    const run = await live.get(`/v1/runs/${answer.body.error.details.runId}`, { 'x-api-variant': 'B' });
    expect(run.body.data.error).toMatchObject({ stepId: 'who', code: 'output_schema_mismatch' });
    expect(run.body.data.stepResults[0].tokensUsed).toBeGreaterThan(0);
    expect(fakeOf('ANTHROPIC').journal).toHaveLength(2);
  });
});

// Models are asked in one process and tools are called in another.
describe('a step with tools', () => {
  beforeAll(async () => {
    await live.request('PUT', '/api/v1/tools/memory', { enabled: true });
  });

  async function ended(id: string) {
    const { runId } = (await live.post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, inB)).body.data;
    return endOf(live, runId);
  }
  const stepOf = (more: object) => ({
    id: 'say',
    type: 'prompt',
    prompt: 'What is there?',
    tools: ['memory'],
    ...more,
  });
  const runStep = async (more: object) => ended((await makeWorkflow(live, { steps: [stepOf(more)] })).id);

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
      const { output, stepResults } = await runStep({ provider, model });
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
    const { output, stepResults } = await runStep({ provider, model, fallback });
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
    const { output, stepResults } = await runStep({ provider, model, outputSchema });
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
});

const inA = { 'x-api-variant': 'A' };

test('cancelling a run ends its call, down to the socket', async () => {
  const fake = fakeOf('ANTHROPIC');
  fake.next('silence');
  const { id } = await makeWorkflow(live, { steps: [{ id: 'say', type: 'prompt', model: 'claude-haiku-5-5' }] });
  const { runId } = (await live.post(`/v1/workflows/${id}/execute`, { input: 'x', async: true }, inA)).body.data;
  await until('the provider is asked', async () => fake.journal.length === 1);
  await live.post(`/v1/runs/${runId}/cancel`);
  await until('the call is ended', async () => fake.journal[0]!.end?.by === 'client');
  expect((await live.get(`/v1/runs/${runId}`)).body.data.status).toBe('CANCELLED');
});

test('a test key reaches no provider', async () => {
  const sandbox = apiClient(processes[0]!.api, tenant.testKey);
  const { id } = await makeWorkflow(sandbox);
  expect(await sandbox.post(`/v1/workflows/${id}/execute`, { input: 'x' })).toMatchObject({ status: 200 });
  expect(allFakes().flatMap(({ journal }) => journal)).toEqual([]);
});
