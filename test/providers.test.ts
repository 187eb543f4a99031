import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from './api-client.ts';
import { anthropicError } from './fakes/anthropic.ts';
import { type LiveAdapter, liveAdapters } from './fakes/live-adapters.ts';
import type { FakeProvider } from './fakes/wire-server.ts';
import { makeWorkflow } from './make-workflow.ts';
import { startProduct } from './product.ts';

/** Runs of live keys, with the providers' wire formats on loopback: the product's own processes, the real SDKs. */

let product: Awaited<ReturnType<typeof startProduct>>;
let live: ApiClient;
const fakes = new Map<string, FakeProvider>();
const fakeOf = (provider: string) => fakes.get(provider)!;

beforeAll(async () => {
  const env: Record<string, string> = { MODEL_ALIASES: '{"house-model": "gpt-6-luna"}' };
  for (const { provider, start } of liveAdapters) {
    const fake = await start();
    fakes.set(provider, fake);
    env[`${provider}_API_KEY`] = fake.apiKey;
    env[`${provider}_BASE_URL`] = fake.baseUrl;
  }
  product = await startProduct(env);
  live = apiClient(product.process.api, product.tenant.liveKey);
});
beforeEach(() => {
  for (const fake of fakes.values()) fake.reset();
});
afterAll(async () => {
  await product.close();
  await Promise.all([...fakes.values()].map((fake) => fake.close()));
});

async function run({ provider, model }: Pick<LiveAdapter, 'provider' | 'model'>, input: string) {
  const steps = [{ id: 'say', type: 'prompt' }];
  const { id } = await makeWorkflow(live, { aiProvider: provider, aiModel: model, steps });
  const answer = await live.post(`/v1/workflows/${id}/execute`, { input });
  const { runs } = (await live.get(`/v1/workflows/${id}/runs`)).body.data;
  return { answer, run: (await live.get(`/v1/runs/${runs[0].id}`)).body.data };
}

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

  test('fails at once for what another attempt would not change, and shows nobody a key', async () => {
    const fake = fakeOf('OPENAI');
    const { answer, run: failed } = await run({ provider: 'OPENAI', model: 'gpt-3.5-turbo' }, 'x');
    expect(answer.status).toBe(500);
    expect(failed).toMatchObject({ status: 'FAILED' });
    expect(JSON.stringify(failed)).toContain('MODEL_ALIASES');
    expect(fake.journal).toHaveLength(1);
    const seen = JSON.stringify([answer.body, failed, product.process.log, product.process.errors]);
    for (const { apiKey, origin } of fakes.values()) {
      expect(seen).not.toContain(apiKey);
      expect(seen).not.toContain(origin);
    }
  });
});

test('a test key reaches nobody', async () => {
  const { id } = await makeWorkflow(product.api);
  expect(await product.api.post(`/v1/workflows/${id}/execute`, { input: 'x' })).toMatchObject({ status: 200 });
  expect([...fakes.values()].flatMap(({ journal }) => journal)).toEqual([]);
});
