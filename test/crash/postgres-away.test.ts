import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
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
beforeEach(() => provider.reset());
afterAll(async () => {
  await product.close();
  await Promise.all([provider.close(), postgres.close()]);
});

/** PostgreSQL is killed while a model is asked, and started again after the model has answered. */
async function awayDuringAnswer(): Promise<void> {
  await until('the model is asked', async () => provider.journal.length > 0);
  await postgres.kill();
  await until('the model has answered', async () => provider.journal[0]?.end !== undefined);
  await until('the API cannot answer', async () => (await client.get('/api/v1/workflows')).status === 503);
  await postgres.start();
}

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
    provider.next({ after: 1_500 });
    const { body } = await client.post(`/api/v1/workflows/${id}/execute`, { input: 'it', async: true });
    await awayDuringAnswer();
    expect((await endOf(client, body.data.runId)).status).toBe('completed');
    expect(provider.journal).toHaveLength(1);
  },
);

test('PostgreSQL away while a message is answered: the reply is kept, and the model is not asked again', async () => {
  provider.next({ after: 1_500 });
  const ask = () =>
    client.post('/api/chat', { messages: [{ role: 'user', content: 'Hello' }] }, { 'idempotency-key': 'away' });
  const asked = ask();
  await awayDuringAnswer();
  await asked;
  const reply = await until('the reply is there', async () => {
    const answer = await ask();
    return answer.status === 200 && answer;
  });
  expect(reply.body).toMatchObject({ data: { content: expect.any(String) } });
  expect(provider.journal).toHaveLength(1);
});
