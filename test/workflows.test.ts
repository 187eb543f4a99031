import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startProduct } from './product.ts';

let product: Awaited<ReturnType<typeof startProduct>>;
beforeAll(async () => {
  product = await startProduct();
});
afterAll(() => product.close());

test('a created workflow executes to COMPLETED', async () => {
  const { api } = product;
  const created = await api.post('/api/v1/workflows', {
    name: 'Greet',
    steps: [{ id: 'greet', type: 'prompt', prompt: 'Say hello to {{input}} in {{style}}' }],
  });
  expect(created).toMatchObject({ status: 201 });
  const executed = await api.post(`/api/v1/workflows/${created.body.data.id}/execute`, {
    input: 'Ada',
    variables: { style: 'rhyme' },
  });
  expect(executed).toMatchObject({ status: 200, body: { success: true, data: { status: 'COMPLETED' } } });
  expect(executed.body.data.output).toContain('Say hello to Ada in rhyme');
});
