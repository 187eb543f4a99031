import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inA, type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene?.close());

test('webhooks and deliveries are found by their ids, and a delivery says which webhook it is of', async () => {
  const { api, process, product } = scene;
  const find = async (client: ApiClient, q: string, headers = {}) =>
    (await client.get(`/api/v1/search?q=${q}`, headers)).body.data.hits;
  const { id: webhookId } = await scene.subscribe({ name: 'Narwhal hook' });
  const queued = await api.post(`/api/v1/webhooks/${webhookId}/test`);
  expect(queued.status).toBe(202);
  const { deliveryId } = queued.body.data;
  const at = expect.any(String);
  const delivery = { type: 'delivery', id: deliveryId, title: 'test.webhook', at, parentId: webhookId };
  expect(await find(api, webhookId)).toEqual([{ type: 'webhook', id: webhookId, title: 'Narwhal hook', at }]);
  expect(await find(api, deliveryId)).toEqual([delivery]);
  const [shownInA] = await find(api, deliveryId, inA);
  const path = `/api/v1/webhooks/${shownInA.parentId}/deliveries/${shownInA.id}`;
  expect((await api.get(path, inA)).body.data).toMatchObject({ id: shownInA.id });

  const foreign = apiClient(process.api, (await product.createTenant()).testKey);
  for (const id of [webhookId, deliveryId]) expect(await find(foreign, id)).toEqual([]);
  expect((await api.delete(`/api/v1/webhooks/${webhookId}`)).status).toBe(200);
  for (const id of [webhookId, deliveryId]) expect(await find(api, id)).toEqual([]);
});
