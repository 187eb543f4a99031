import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { viewTemporal } from '../temporal-view.ts';
import { until } from '../until.ts';
import type { Reply, Script } from './receiver.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

const first =
  (...replies: Reply[]): Script =>
  (nth) =>
    replies[nth - 1] ?? { status: 200 };
const always =
  (reply: Reply): Script =>
  () =>
    reply;

/** Subscribes, sends a test, and waits until its delivery has this status. */
async function sendTest(status: string, script: Script, fields: object = {}) {
  const subscribed = await scene.subscribe(fields, script);
  await scene.api.post(`/v1/webhooks/${subscribed.id}/test`);
  const delivery = await scene.reaches(subscribed.id, status);
  const detail = (await scene.api.get(`/v1/webhooks/${subscribed.id}/deliveries/${delivery.id}`)).body.data;
  return { ...subscribed, delivery: detail, requests: scene.receiver.to(subscribed.path) };
}

describe('a failure', () => {
  test('is tried again until it succeeds: the same event, signed anew', async () => {
    const { delivery, requests } = await sendTest('delivered', first({ status: 500, body: 'no' }, { status: 503 }));
    expect(delivery).toMatchObject({
      attempts: 3,
      retryCount: 2,
      statusCode: 200,
      errorClass: null,
      replayable: false,
    });
    expect(delivery.nextAttemptAt).toBeNull();
    expect(delivery.attemptLog).toMatchObject([
      { number: 1, statusCode: 500, responseBody: 'no' },
      { number: 2, statusCode: 503 },
      { number: 3, statusCode: 200 },
    ]);
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1);
    for (const name of ['x-service-idempotency-key', 'x-service-delivery', 'webhook-id', 'x-webhook-id']) {
      expect(new Set(requests.map(({ headers }) => headers[name])).size).toBe(1);
    }
  });

  test('is tried again after 1 s, 2 s, 4 s and so on, here twenty times as fast', async () => {
    const { requests } = await sendTest('delivered', first(...Array.from({ length: 5 }, () => ({ status: 500 }))));
    const gaps = requests.slice(1).map(({ at }, i) => at - requests[i]!.at);
    gaps.forEach((gap, i) => {
      expect(gap).toBeGreaterThanOrEqual(50 * 2 ** i - 2);
    });
  });

  test.each([301, 302, 303, 307, 308])('%i is one, and is not followed', async (status) => {
    const elsewhere = `/elsewhere-${status}`;
    const moved = { status, headers: { location: scene.receiver.url(elsewhere) } };
    const { delivery } = await sendTest('dead_lettered', always(moved), { maxAttempts: 2 });
    expect(delivery).toMatchObject({ statusCode: status, attempts: 2, replayable: true });
    expect(scene.receiver.to(elsewhere)).toEqual([]);
  });

  test.each<[Reply, string]>([
    ['hang', 'timeout'],
    ['drip', 'timeout'],
    ['reset', 'reset'],
  ])('%s is one: %s', async (reply, errorClass) => {
    const { delivery } = await sendTest('dead_lettered', always(reply), { maxAttempts: 1 });
    expect(delivery).toMatchObject({ errorClass, attempts: 1, responseBody: null });
  });

  test('a refused connection is one, and says so', async () => {
    const { id } = await scene.subscribe({ url: 'http://127.0.0.1:9/', maxAttempts: 1 });
    await scene.api.post(`/v1/webhooks/${id}/test`);
    expect(await scene.reaches(id, 'dead_lettered')).toMatchObject({ errorClass: 'connect', statusCode: null });
  });

  test('with maxAttempts 1 there is exactly one attempt', async () => {
    const { requests } = await sendTest('dead_lettered', always({ status: 500 }), { maxAttempts: 1 });
    expect(requests).toHaveLength(1);
  });
});

describe('Retry-After', () => {
  test('is waited for', async () => {
    const { requests } = await sendTest('delivered', first({ status: 503, headers: { 'retry-after': '1' } }));
    expect(requests[1]!.at - requests[0]!.at).toBeGreaterThanOrEqual(998);
  });

  test.each(['-1', 'abc', '0', 'Thu, 01 Jan 1970 00:00:00 GMT'])('%s changes nothing', async (header) => {
    const { delivery } = await sendTest('delivered', first({ status: 429, headers: { 'retry-after': header } }));
    expect(delivery.attempts).toBe(2);
  });

  test('that is given twice is not understood, and the attempt counts', async () => {
    const twice = { status: 429, headers: ['retry-after', '3600', 'retry-after', '7200'] };
    const { delivery } = await sendTest('delivered', first(twice));
    expect(delivery.attempts).toBe(2);
  });

  test('is honoured up to an hour', async () => {
    const script = always({ status: 503, headers: { 'retry-after': '86400' } });
    const { delivery } = await sendTest('retrying', script);
    const hourMs = 3_600_000 * 0.05;
    const next = Date.parse(delivery.nextAttemptAt);
    // It begins when the attempt has ended, which takes its time on a busy machine.
    expect(next - Date.parse(delivery.attemptLog[0].startedAt)).toBeGreaterThanOrEqual(hourMs - 1);
    expect(next - Date.now()).toBeLessThanOrEqual(hourMs);
  });
});

describe('a subscription', () => {
  test('that answers 410 is turned off, and its delivery waits for a replay', async () => {
    const { id, delivery } = await sendTest('dead_lettered', first({ status: 410 }));
    expect(delivery).toMatchObject({ statusCode: 410, attempts: 1, replayable: true });
    const webhook = (await scene.api.get(`/v1/webhooks/${id}`)).body.data;
    expect(webhook).toMatchObject({ isActive: false, disabledReason: 'gone' });
    const replay = () => scene.api.post(`/v1/webhooks/${id}/deliveries/${delivery.id}/replay`);
    expect(await replay()).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: true });
    expect((await replay()).status).toBe(202);
    await scene.reaches(id, 'delivered');
  });

  test('that is turned off hears nothing, and what it missed when it is recovered', async () => {
    const since = new Date().toISOString();
    const { id, path } = await scene.subscribe();
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
    const missed = await scene.run();
    expect((await scene.api.post(`/v1/webhooks/${id}/test`)).status).toBe(409);
    expect((await scene.api.post(`/v1/webhooks/${id}/recover`, { since })).status).toBe(409);
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: true });
    expect(await scene.deliveries(id)).toEqual([]);
    const recovered = await scene.api.post(`/v1/webhooks/${id}/recover`, { since });
    expect(recovered).toMatchObject({ status: 202, body: { data: { queued: 1 } } });
    await scene.reaches(id, 'delivered');
    expect(JSON.parse(scene.receiver.to(path)[0]!.body).data.id).toBe(missed);
    // Everything has arrived now.
    expect((await scene.api.post(`/v1/webhooks/${id}/recover`, { since })).body.data.queued).toBe(0);
  });

  test('that is turned off between retries gets no more of them, and all of it when recovered', async () => {
    const since = new Date().toISOString();
    const { id, path } = await scene.subscribe({}, first({ status: 503, headers: { 'retry-after': '600' } }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    await scene.reaches(id, 'retrying');
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
    const delivery = await scene.reaches(id, 'dead_lettered');
    expect(delivery).toMatchObject({ errorClass: 'subscription_off', attempts: 1, replayable: true });
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: true });
    expect((await scene.api.post(`/v1/webhooks/${id}/recover`, { since })).body.data.queued).toBe(1);
    await scene.reaches(id, 'delivered');
    expect(scene.receiver.to(path)).toHaveLength(2);
  });

  test('that is turned off notifies the workflows that wait for their next attempt', async () => {
    const { id } = await scene.subscribe({}, always({ status: 503, headers: { 'retry-after': '600' } }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    const delivery = await scene.reaches(id, 'retrying');
    await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
    const temporal = await viewTemporal();
    const uuid = deliveryIds.parse(delivery.id)!;
    await until('its workflow is parked', async () => (await temporal.deliveryStatus(uuid)) === 'dead_lettered');
    await temporal.close();
  });

  test('that is deleted gets no more requests, and its deliveries have failed', async () => {
    const { id, path } = await scene.subscribe({}, always({ status: 503, headers: { 'retry-after': '600' } }));
    await scene.api.post(`/v1/webhooks/${id}/test`);
    const { id: deliveryId } = await scene.reaches(id, 'retrying');
    await scene.api.delete(`/v1/webhooks/${id}`);
    expect((await scene.api.get(`/v1/webhooks/${id}/deliveries`)).status).toBe(404);
    const { pool } = scene.product.database;
    const { rows } = await pool.query('select status, error_class from delivery where id = $1', [deliveryId.slice(4)]);
    expect(rows).toEqual([{ status: 'failed', error_class: 'subscription_deleted' }]);
    const owed = () => pool.query('select 1 from outbox where subject_id = $1', [webhookIds.parse(id)]);
    await until('its workflows have been signalled', async () => (await owed()).rowCount === 0);
    expect(scene.receiver.to(path)).toHaveLength(1);
  });
});

test('what is recovered begins with the subscription, and repeats nothing that arrived', async () => {
  const since = new Date().toISOString();
  await scene.subscribe({ events: ['*'] });
  await scene.run();
  const { id } = await scene.subscribe({ events: ['*'] });
  await scene.run();
  await until('both arrived', async () => (await scene.deliveries(id, '&status=delivered')).length === 2);
  expect((await scene.api.post(`/v1/webhooks/${id}/recover`, { since })).body.data.queued).toBe(0);
  expect(await scene.deliveries(id)).toHaveLength(2);
});
