import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { until } from '../until.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const otherKey = `k2:${randomBytes(32).toString('base64')}`;

test('a process that cannot open the secret of a webhook says so in the delivery, and blames no receiver', async () => {
  const { id, path } = await scene.subscribe();
  await scene.process.stop();
  const wrong = await scene.product.start(['api', 'webhooks'], { SEALING_KEYS: otherKey });
  const at = (base: string) => apiClient(base, scene.tenant.testKey);
  for (let count = 0; count < 12; count++) {
    expect((await at(wrong.api).post(`/v1/webhooks/${id}/test`)).status).toBe(202);
  }
  const deliveries = async (base: string, status: string) =>
    (await at(base).get(`/v1/webhooks/${id}/deliveries?status=${status}`)).body.data.deliveries;
  const said = await until('each says so', async () => {
    const all = await deliveries(wrong.api, 'retrying');
    return all.length === 12 && all;
  });
  for (const one of said) expect(one).toMatchObject({ errorClass: 'secret_unreadable', statusCode: null });
  const state = `select consecutive_failures, next_probe_at, failing_since from webhook_subscription where id = $1`;
  const { rows } = await scene.product.database.pool.query(state, [webhookIds.parse(id)]);
  expect(rows).toEqual([{ consecutive_failures: 0, next_probe_at: null, failing_since: null }]);
  expect(scene.receiver.to(path)).toEqual([]);
  await wrong.stop();

  const right = await scene.product.start(['api', 'webhooks']);
  await until('all are delivered', async () => (await deliveries(right.api, 'delivered')).length === 12);
  expect(scene.receiver.to(path)).toHaveLength(12);

  expect((await at(right.api).delete(`/v1/webhooks/${id}`)).status).toBe(200);
  const kept = `select sealed_secret, sealed_previous_secret, sealed_older_secret, sealed_headers from webhook_subscription
    where id = $1`;
  expect(Object.values((await scene.product.database.pool.query(kept, [webhookIds.parse(id)])).rows[0])).toEqual([
    null,
    null,
    null,
    null,
  ]);
});
