import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../until.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const samples = async () => {
  const line = await until('it serves metrics', async () => scene.process.log.find(({ metrics }) => metrics));
  const text = await (await fetch(line.metrics as string)).text();
  return text.split('\n').filter((sample) => sample.startsWith('atelier_deliver'));
};
const shows = (sample: string) => until(sample, async () => (await samples()).includes(sample));

test('operators see attempts, what waits, and dead letters', async () => {
  const { id } = await scene.subscribe({ maxAttempts: 2 }, (nth) => ({ status: nth === 1 ? 200 : 500 }));
  const send = () => scene.api.post(`/v1/webhooks/${id}/test`);
  await send();
  await scene.reaches(id, 'delivered');
  await send();
  await scene.reaches(id, 'dead_lettered');
  await shows('atelier_delivery_attempts_total{status="delivered"} 1');
  await shows('atelier_delivery_attempts_total{status="retrying"} 1');
  await shows('atelier_delivery_attempts_total{status="dead_lettered"} 1');
  await shows('atelier_deliveries_open{status="dead_lettered"} 1');
  await shows('atelier_deliveries_open{status="first"} 0');
  expect(await samples()).toContain('atelier_deliveries_open_oldest_seconds{status="retry"} 0');
});
