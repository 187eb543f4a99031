import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { defaultDeliveryPolicy } from '../../src/webhooks/delivery-policy.ts';
import { leaseDue } from '../../src/webhooks/lease.ts';
import { apiClient } from '../api-client.ts';
import { openProduct, type Product } from '../product.ts';

let product: Product;
beforeAll(async () => {
  product = await openProduct();
});
afterAll(() => product.close());

test('where there is little room, no organization has more than its share of it', async () => {
  // Nobody makes attempts here.
  const { api } = await product.start(['api']);
  const [greedy, modest] = [await product.createTenant(), await product.createTenant()];
  for (const { testKey } of [greedy, modest]) {
    const client = apiClient(api, testKey);
    for (let webhooks = 0; webhooks < 3; webhooks++) {
      const given = { name: 'Ours', url: 'https://hooks.example.com', events: ['*'] };
      const { id } = (await client.post('/v1/webhooks', given)).body.data;
      for (let tests = 0; tests < 4; tests++) await client.post(`/v1/webhooks/${id}/test`);
    }
  }
  const greedyId = greedy.organizationId.replace('org_', '');
  const lease = (total: number, ofGreedy: number) =>
    leaseDue(
      product.database,
      { total, of: (id) => (id.replaceAll('-', '') === greedyId ? ofGreedy : total) },
      defaultDeliveryPolicy,
    );
  const count = (leased: { organizationId: string }[], id: string) =>
    leased.filter(({ organizationId }) => organizationId.replaceAll('-', '') === id.replace('org_', '')).length;
  const { leased } = await lease(100, 5);
  expect(count(leased, greedy.organizationId)).toBe(5);
  expect(count(leased, modest.organizationId)).toBe(12);
  const nothing = await lease(100, 0);
  expect(nothing.leased).toEqual([]);
  expect((await lease(3, 100)).leased).toHaveLength(3);
});
