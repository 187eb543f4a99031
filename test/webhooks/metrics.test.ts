import { afterAll, beforeAll, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
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
  return text.split('\n').filter((sample) => /^atelier_(deliver|webhooks|retries|dead)/.test(sample));
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
  await shows('atelier_deliveries_open_oldest_seconds{status="retry"} 0');
});

test('operators see which webhooks fail, how late their retries are, and how many dead letters are parked', async () => {
  await shows('atelier_dead_letters_parked 1');
  const { id } = await scene.subscribe({ rateLimit: 1 }, () => ({ status: 503, headers: { 'retry-after': '3600' } }));
  await scene.api.post(`/v1/webhooks/${id}/test`);
  await scene.reaches(id, 'retrying');
  await shows('atelier_webhooks_failing{state="retrying"} 1');
  await shows('atelier_webhooks_failing{state="open"} 0');
  await shows('atelier_retries_late_seconds 0');
  const change = (text: string) => scene.product.database.pool.query(text, [webhookIds.parse(id)]);
  // Its limit keeps it from being made.
  await change(`update webhook_subscription set rate_free_at = now() + interval '1 hour' where id = $1`);
  await change(`update delivery set next_attempt_at = now() - interval '100 seconds' where subscription_id = $1`);
  await until('it is late', async () => {
    const late = (await samples()).find((sample) => sample.startsWith('atelier_retries_late_seconds'));
    return Number(late?.split(' ')[1]) >= 100;
  });
  await change('update retry_release set paused_at = now() where subscription_id = $1');
  await shows('atelier_webhooks_failing{state="paused"} 1');
  await shows('atelier_retries_late_seconds 0');
});
