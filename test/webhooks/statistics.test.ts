import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { until } from '../until.ts';
import type { Reply } from './receiver.ts';
import { type SharedWebhookScene, type Subscribed, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

interface Stats {
  attempts: number;
  succeeded: number;
  failed: number;
  deadLettered: number;
  successRate: number | null;
  latencyMs: { p50: number | null; p95: number | null };
  byStatusClass: Record<string, number>;
  series: { at: string; succeeded: number; failed: number }[];
}

const windows = { '1h': 60, '24h': 24, '7d': 56, '30d': 60 };
const none = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, error: 0 };
const statsOf = async ({ id }: Pick<Subscribed, 'id'>, query = '?window=1h'): Promise<Stats> =>
  (await scene.api.get(`/v1/webhooks/${id}/stats${query}`)).body.data;
const ended = (webhook: Subscribed, count: number) =>
  until(`${count} attempts have ended`, async () => {
    const stats = await statsOf(webhook);
    return stats.attempts >= count && stats;
  });
const sql = (text: string, values: unknown[]) => scene.product.database.pool.query(text, values);
const sumOf = (series: Stats['series'], name: 'succeeded' | 'failed') =>
  series.reduce((sum, point) => sum + point[name], 0);

describe('the statistics of a webhook', () => {
  test('are empty before its first attempt', async () => {
    const webhook = await scene.subscribe();
    for (const [window, points] of Object.entries(windows)) {
      const { series, ...figures } = await statsOf(webhook, `?window=${window}`);
      expect(figures).toEqual({
        attempts: 0,
        succeeded: 0,
        failed: 0,
        deadLettered: 0,
        successRate: null,
        latencyMs: { p50: null, p95: null },
        byStatusClass: none,
      });
      expect(series).toHaveLength(points);
    }
    expect((await statsOf(webhook, '')).series).toHaveLength(24);
  });

  test('count attempts by their answers, dead letters and durations, alike in every window', async () => {
    const replies: Reply[] = [
      { status: 200, afterMs: 150 },
      { status: 204, afterMs: 150 },
      { status: 302 },
      { status: 404, afterMs: 600 },
      { status: 503, afterMs: 150 },
      'reset',
    ];
    const webhook = await scene.subscribe({ maxAttempts: 1 }, (nth) => replies[nth - 1]!);
    for (const _ of replies) await scene.run();
    await ended(webhook, replies.length);
    for (const window of Object.keys(windows)) {
      const { series, latencyMs, ...figures } = await statsOf(webhook, `?window=${window}`);
      expect(figures).toEqual({
        attempts: 6,
        succeeded: 2,
        failed: 4,
        deadLettered: 4,
        successRate: 0.3333,
        byStatusClass: { '2xx': 2, '3xx': 1, '4xx': 1, '5xx': 1, error: 1 },
      });
      expect(sumOf(series, 'succeeded')).toBe(2);
      expect(sumOf(series, 'failed')).toBe(4);
      // Estimates: the bounds of durations are a third apart.
      expect(latencyMs.p50).toBeGreaterThan(110);
      expect(latencyMs.p95).toBeGreaterThan(420);
      // An attempt is given up after nine seconds.
      expect(latencyMs.p95).toBeLessThan(15_000);
      const latest = series.at(-1)!;
      expect(Date.now() - Date.parse(latest.at)).toBeLessThan(12 * 3_600_000);
    }
  });

  test('count each attempt of a delivery, and no dead letter while it is retried', async () => {
    const webhook = await scene.subscribe({}, (nth) => ({ status: nth < 3 ? 500 : 200 }));
    await scene.run();
    await scene.reaches(webhook.id, 'delivered');
    expect(await statsOf(webhook)).toMatchObject({ attempts: 3, succeeded: 1, failed: 2, deadLettered: 0 });
  });

  test('lose nothing of attempts that end at the same time', async () => {
    const webhooks = await Promise.all([
      scene.subscribe(),
      scene.subscribe({}, () => ({ status: 500 })),
      scene.subscribe(),
    ]);
    const count = 12;
    await Promise.all(Array.from({ length: count }, () => scene.run()));
    const [first, failing, third] = webhooks as [Subscribed, Subscribed, Subscribed];
    for (const webhook of [first, third]) {
      expect(await ended(webhook, count)).toMatchObject({ attempts: count, succeeded: count, failed: 0 });
    }
    await scene.api.patch(`/v1/webhooks/${failing.id}`, { isActive: false });
    const ofIt = await until('its deliveries have ended', async () => {
      const all = await scene.deliveries(failing.id);
      return all.length === count && all.every(({ status }) => status === 'dead_lettered') && all;
    });
    const attempts = ofIt.reduce((sum, { attempts: made }) => sum + made, 0);
    // Those that were turned off are dead letters too.
    expect(await statsOf(failing)).toMatchObject({ attempts, failed: attempts, deadLettered: count });
  });

  test('leave out tests and examples, however they end', async () => {
    const webhook = await scene.subscribe({ maxAttempts: 1 }, () => ({ status: 500 }));
    await scene.api.post(`/v1/webhooks/${webhook.id}/test`);
    await scene.api.post(`/v1/webhooks/${webhook.id}/send-example`, { type: 'batch.completed' });
    await until('both are dead letters', async () => {
      return (await scene.deliveries(webhook.id, '&status=dead_lettered')).length === 2;
    });
    expect(await statsOf(webhook)).toMatchObject({ attempts: 0, deadLettered: 0, byStatusClass: none });
    const waiting = await scene.subscribe({}, () => ({ status: 503, headers: { 'retry-after': '600' } }));
    await scene.api.post(`/v1/webhooks/${waiting.id}/test`);
    await scene.reaches(waiting.id, 'retrying');
    await scene.api.patch(`/v1/webhooks/${waiting.id}`, { isActive: false });
    await scene.reaches(waiting.id, 'dead_lettered');
    expect(await statsOf(waiting)).toMatchObject({ attempts: 0, deadLettered: 0 });
  });

  test('leave out what is older than the window, and begin anew where its row is used again', async () => {
    const webhook = await scene.subscribe();
    await scene.run();
    await ended(webhook, 1);
    const id = webhookIds.parse(webhook.id);
    await sql(`update attempt_minute set minute = minute - interval '1 hour' where subscription_id = $1`, [id]);
    expect((await statsOf(webhook)).attempts).toBe(0);
    expect((await statsOf(webhook, '?window=24h')).attempts).toBe(1);
    await sql(`update attempt_hour set hour = hour - interval '30 days' where subscription_id = $1`, [id]);
    expect((await statsOf(webhook, '?window=30d')).attempts).toBe(0);
    await scene.run();
    const stats = await ended(webhook, 1);
    expect(stats).toMatchObject({ attempts: 1, successRate: 1 });
    expect((await statsOf(webhook, '?window=30d')).attempts).toBe(1);
  });

  test('are those of one tenant alone, and go with the webhook', async () => {
    const webhook = await scene.subscribe();
    await scene.run();
    await ended(webhook, 1);
    const other = await scene.product.createTenant({ plan: 'enterprise' });
    for (const key of [other.testKey, scene.tenant.liveKey]) {
      const answer = await apiClient(scene.process.api, key).get(`/v1/webhooks/${webhook.id}/stats`);
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    }
    await scene.api.delete(`/v1/webhooks/${webhook.id}`);
    expect((await scene.api.get(`/v1/webhooks/${webhook.id}/stats`)).status).toBe(404);
    const counts = `select from attempt_minute where subscription_id = $1 union all select from attempt_hour where subscription_id = $1`;
    expect((await sql(counts, [webhookIds.parse(webhook.id)])).rowCount).toBe(0);
  });

  test.each(['2h', '', '24H', '1h&window=7d'])('refuse the window %p', async (window) => {
    const webhook = await scene.subscribe();
    expect(await scene.api.get(`/v1/webhooks/${webhook.id}/stats?window=${window}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path: 'window' }] } } },
    });
  });
});
