import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Answer, type ApiClient, apiClient } from '../../api-client.ts';
import { openProduct, type Product } from '../../product.ts';
import { until } from '../../until.ts';

let product: Product;
let api: ApiClient;
let workflowPath: string;

beforeAll(async () => {
  product = await openProduct();
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const process = await product.start(['api', 'runs'], { DATABASE_POOL_SIZE: '2' });
  api = apiClient(process.api, testKey);
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  workflowPath = `/api/v1/workflows/${(await api.post('/api/v1/workflows', { name: 'Busy', steps })).body.data.id}`;
});
afterAll(() => product.close());

const isRefusal = ({ status, headers, body }: Answer) =>
  status === 503 && Number(headers.get('retry-after')) >= 1 && body.error.code === 'service_unavailable';

describe('more work than connections', () => {
  test('waits for a slot that is free soon', async () => {
    // Thirty for each connection: many more would wait for longer than a request may on a busy machine, and these may at
    // times.
    await until('all are served', async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, () => api.request('GET', workflowPath)));
      expect(answers.filter((answer) => answer.status !== 200 && !isRefusal(answer))).toEqual([]);
      return answers.every(({ status }) => status === 200);
    });
  });

  test('is asked to come back when none is, and is served as soon as one is free', async () => {
    const blocker = new pg.Client({ connectionString: product.ownerUrl });
    await blocker.connect();
    await blocker.query('begin; lock table automation in access exclusive mode');
    await until('all are answered soon', async () => {
      const began = performance.now();
      const answers = await Promise.all(Array.from({ length: 50 }, () => api.request('GET', workflowPath)));
      expect(answers.filter((answer) => !isRefusal(answer))).toEqual([]);
      return performance.now() - began < 20_000;
    });
    await blocker.query('rollback');
    await blocker.end();
    await until('requests are served again', async () => (await api.get(workflowPath)).status === 200);
  });

  test('loses no run', async () => {
    const executed = await Promise.all(
      Array.from({ length: 60 }, (_, index) => api.post(`${workflowPath}/execute`, { input: index })),
    );
    const completed = executed.filter(({ status }) => status === 200).length;
    expect(executed.filter((answer) => answer.status !== 200 && !isRefusal(answer))).toEqual([]);
    expect((await api.get(workflowPath)).body.data.totalRuns).toBe(completed);
  });
});
