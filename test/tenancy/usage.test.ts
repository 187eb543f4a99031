import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { untilDayHasRoom } from './rate-windows.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

test('usage counts the month’s requests, runs and tokens, and a deletion takes nothing from it', async () => {
  await untilDayHasRoom(30);
  const { api, process, tenant } = product;
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Used', steps })).body.data;
  const first = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'a' });
  const second = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'b' });
  await api.delete(`/api/v1/workflows/${id}`);
  const month = new Date().toISOString().slice(0, 7);
  const usage = await until('the requests are written down', async () => {
    const { data } = (await api.get('/api/v1/usage')).body;
    return data.requests >= 4 && data;
  });
  expect(usage).toMatchObject({
    period: { start: `${month}-01` },
    runs: 2,
    tokens: first.body.data.tokensUsed + second.body.data.tokensUsed,
  });
  const live = await apiClient(process.api, tenant.liveKey).get('/v1/usage');
  expect(live.body.data).toMatchObject({ runs: 0, tokens: 0 });
});
