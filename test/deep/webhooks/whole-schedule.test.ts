import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../../until.ts';
import { openWebhookScene, type WebhookScene } from '../../webhooks/scene.ts';

const scale = 0.00001;

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene({ DELIVERY_TIME_SCALE: String(scale) });
});
afterAll(() => scene.close());

test('two and a half days of retries, in seconds: nineteen attempts, each in its time', async () => {
  const { id, path } = await scene.subscribe({}, () => ({ status: 503 }));
  await scene.api.post(`/v1/webhooks/${id}/test`);
  const dead = () => scene.deliveries(id, '&status=dead_lettered');
  const [delivery] = await until('it is given up', async () => ((await dead()).length > 0 ? dead() : undefined));
  expect(delivery).toMatchObject({ attempts: 19, retryCount: 18, statusCode: 503, replayable: true });
  const times = scene.receiver.to(path).map(({ at }) => at);
  expect(times).toHaveLength(19);
  times.slice(1).forEach((at, i) => {
    const seconds = Math.min(2 ** i, 86_400);
    expect(at - times[i]!).toBeGreaterThanOrEqual(seconds * 1_000 * scale - 2);
  });
});
