import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { publishExpiringKeys } from '../../src/operations/key-expiry.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

test('a key that expires within seven days is announced once, to those who listen in its environment', async () => {
  const { database } = scene.product;
  const { organizationId } = scene.tenant;
  const day = 86_400_000;
  const expires = new Date(Date.now() + 6 * day).toISOString();
  const make = (environment: string, until: string) =>
    createKey(database, { organizationId, environment, name: 'Old', expires: until });
  const { id, path } = await scene.subscribe({ events: ['api_key.expiring'] });
  const key = await make('test', expires);
  await make('live', expires);
  await make('test', new Date(Date.now() + 30 * day).toISOString());
  // Any number of processes may look at the same time.
  await Promise.all([1, 2, 3].map(() => publishExpiringKeys(database, new Date())));
  await scene.reaches(id, 'delivered');
  expect(await publishExpiringKeys(database, new Date())).toBe(0);
  expect(await scene.deliveries(id)).toHaveLength(1);
  const [request] = scene.receiver.to(path);
  expect(JSON.parse(request!.body)).toMatchObject({
    type: 'api_key.expiring',
    data: { id: key.id, name: 'Old', lastFour: key.key.slice(-4), expiresAt: expires },
  });
  expect(request!.body).not.toContain(key.key);
});
