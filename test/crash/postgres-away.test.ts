import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { startFakeGoogle } from '../fakes/google.ts';
import type { FakeProvider } from '../fakes/wire-server.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';
import { ownPostgres } from './own-servers.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let postgres: Awaited<ReturnType<typeof ownPostgres>>;
let product: Product;
let provider: FakeProvider;
let client: ApiClient;
beforeAll(async () => {
  [postgres, provider] = await Promise.all([ownPostgres(), startFakeGoogle()]);
  const google = { GOOGLE_API_KEY: provider.apiKey, GOOGLE_BASE_URL: provider.baseUrl };
  product = await openProduct({
    testDatabase: postgres.testDatabase,
    env: { ...secrets, ...google, EGRESS_ALLOW_CIDRS: '127.0.0.1/32' },
  });
  const { liveKey } = await product.createTenant({ plan: 'enterprise' });
  const { api } = await product.start(['api', 'runs', 'generation']);
  client = apiClient(api, liveKey);
});
afterAll(async () => {
  await product.close();
  await Promise.all([provider.close(), postgres.close()]);
});

/** Less than an answer is kept for a database that is away: of a step some 19 s, and of a message 3 s. */
const kept = { stepMs: 15_000, messageMs: 2_800 };

/**
 * PostgreSQL is killed while a model is asked, and started again after the model has answered.
 * @returns whether that took no longer than an answer is kept, which a busy machine may take
 */
async function awayDuringAnswer(keptForMs: number): Promise<boolean> {
  await until('the model is asked', async () => provider.journal.length > 0);
  await postgres.kill();
  const { at } = await until('the model has answered', async () => provider.journal[0]?.end);
  await until('the API cannot answer', async () => (await client.request('GET', '/api/v1/workflows')).status === 503);
  await postgres.start();
  return Date.now() - at < keptForMs;
}

/** Does it once more where the model was asked again because PostgreSQL was not there in time. */
const inTime = (scene: () => Promise<boolean>) =>
  until('PostgreSQL is there in time', async () => {
    provider.reset();
    provider.next({ after: 1_500 });
    return (await scene()) || provider.journal.length === 1;
  });

const say = { id: 'say', type: 'prompt', prompt: 'Say {{input}}', provider: 'GOOGLE', model: 'gemini-3.8-flash' };

test.each([
  ['a step', say],
  [
    'a step of a branch',
    {
      id: 'both',
      type: 'parallel',
      branches: [
        { id: 'a', steps: [say] },
        { id: 'b', steps: [{ id: 'note', type: 'transform', expression: 'input' }] },
      ],
    },
  ],
])(
  'PostgreSQL away while the model of %s answers: the answer is recorded, and the model is not asked again',
  async (_, step) => {
    const { id } = await makeWorkflow(client, { steps: [step] });
    await inTime(async () => {
      const { body } = await client.post(`/api/v1/workflows/${id}/execute`, { input: 'it', async: true });
      const isInTime = await awayDuringAnswer(kept.stepMs);
      expect((await endOf(client, body.data.runId)).status).toBe('completed');
      return isInTime;
    });
    expect(provider.journal).toHaveLength(1);
  },
);

test('PostgreSQL away while a message is answered: the reply is kept, and the model is not asked again', async () => {
  let times = 0;
  await inTime(async () => {
    const key = { 'idempotency-key': `away ${++times}` };
    const ask = () => client.post('/api/chat', { messages: [{ role: 'user', content: 'Hello' }] }, key);
    const asked = ask();
    const isInTime = await awayDuringAnswer(kept.messageMs);
    await asked;
    const reply = await until('the reply is there', async () => {
      const answer = await ask();
      return answer.status === 200 && answer;
    });
    expect(reply.body).toMatchObject({ data: { content: expect.any(String) } });
    return isInTime;
  });
  expect(provider.journal).toHaveLength(1);
});
