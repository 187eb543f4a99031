import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { deliveryIds, eventIds } from '../../src/webhooks/core/ids.ts';
import { replayAnyDelivery } from '../../src/webhooks/dead-letters/operator-actions.ts';
import { expungeSweep } from '../../src/webhooks/deliveries/expunge.ts';
import { until } from '../until.ts';
import type { Reply } from './receiver.ts';
import { tablesWith } from './rows.ts';
import { type SharedWebhookScene, type Subscribed, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());
// A webhook that fails would keep the bodies of the next events.
beforeEach(async () => {
  const { webhooks } = (await scene.api.get('/v1/webhooks?limit=100')).body.data;
  for (const { id } of webhooks) await scene.api.delete(`/v1/webhooks/${id}`);
});

const pathOf = (webhook: Pick<Subscribed, 'id'>, deliveryId: string) =>
  `/v1/webhooks/${webhook.id}/deliveries/${deliveryId}`;
const expunge = (webhook: Subscribed, deliveryId: string) => scene.api.delete(`${pathOf(webhook, deliveryId)}/content`);
const detailOf = async (webhook: Subscribed, deliveryId: string) =>
  (await scene.api.get(pathOf(webhook, deliveryId))).body.data;
const factsOf = async (eventId: string) =>
  (
    await scene.product.database.pool.query('select facts, content_expunged_at as at from event where id = $1', [
      eventIds.parse(eventId),
    ])
  ).rows[0];
/** The event as the list of events has it, which shows it when no transaction is open that may not know it. */
async function listed(eventId: string) {
  let after = '';
  return until(`${eventId} is listed`, async () => {
    const { data } = (await scene.api.get(`/v1/events?limit=100${after && `&after=${after}`}`)).body;
    after = data.nextCursor;
    return data.events.find(({ id }: { id: string }) => id === eventId);
  });
}
const conflict = { status: 409, body: { error: { code: 'conflict' } } };
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const recover = async (webhook: Subscribed, body: object) =>
  (await scene.api.post(`/v1/webhooks/${webhook.id}/recover`, body)).body.data;

describe('the content of a delivery', () => {
  test('is removed for good, and its log stays', async () => {
    const secret = `answer-${randomUUID()}`;
    const webhook = await scene.subscribe({}, () => ({ status: 200, body: secret }));
    await scene.run();
    const { id, eventId } = await scene.reaches(webhook.id, 'delivered');
    expect(await tablesWith(scene.product.database, secret)).toEqual(['delivery', 'delivery_attempt']);
    const before = await detailOf(webhook, id);
    expect(before).toMatchObject({ contentExpungedAt: null, requestBody: expect.any(String) });
    for (let time = 0; time < 2; time++) {
      expect(await expunge(webhook, id)).toMatchObject({
        status: 200,
        body: { success: true, data: { deleted: true } },
      });
    }
    expect(await detailOf(webhook, id)).toEqual({
      ...before,
      contentExpungedAt: time,
      requestBody: null,
      responseBody: null,
      attemptLog: before.attemptLog.map((attempt: object) => ({ ...attempt, responseBody: null })),
    });
    const [entry] = await scene.deliveries(webhook.id);
    expect(entry).toMatchObject({
      id,
      contentExpungedAt: time,
      responseBody: null,
      status: 'delivered',
      statusCode: 200,
    });
    expect(await tablesWith(scene.product.database, secret)).toEqual([]);
    expect(await factsOf(eventId)).toEqual({ facts: null, at: expect.any(String) });
    const { requestBody } = before;
    const { data: _, ...head } = JSON.parse(requestBody);
    expect(await listed(eventId)).toEqual({ ...head, data: null, contentExpungedAt: time });
    expect(await scene.api.post(`${pathOf(webhook, id)}/resend`)).toMatchObject(conflict);
    expect(await scene.api.post(`${pathOf(webhook, id)}/replay`)).toMatchObject(conflict);
    const { rows } = await scene.product.database.pool.query('select action from audit_log where subject_id = $1', [
      deliveryIds.parse(id),
    ]);
    expect(rows).toEqual([{ action: 'delivery.expunge' }]);
  });

  test('stays while attempts are to come', async () => {
    const webhook = await scene.subscribe({}, () => ({ status: 503, headers: { 'retry-after': '600' } }));
    await scene.run();
    const { id } = await scene.reaches(webhook.id, 'retrying');
    expect(await expunge(webhook, id)).toMatchObject({
      ...conflict,
      body: { error: { details: { status: 'retrying' } } },
    });
    expect(await detailOf(webhook, id)).toMatchObject({ contentExpungedAt: null, requestBody: expect.any(String) });
  });

  test('of a dead letter is not sent again: not by replay, recover or an operator', async () => {
    const since = new Date().toISOString();
    const off = await scene.subscribe();
    await scene.api.patch(`/v1/webhooks/${off.id}`, { isActive: false });
    const webhook = await scene.subscribe({ maxAttempts: 1 }, () => ({ status: 500 }));
    await scene.run();
    const { id } = await scene.reaches(webhook.id, 'dead_lettered');
    await expunge(webhook, id);
    expect(await detailOf(webhook, id)).toMatchObject({ status: 'dead_lettered', replayable: false });
    expect(await scene.api.post(`${pathOf(webhook, id)}/replay`)).toMatchObject(conflict);
    await expect(replayAnyDelivery(scene.product.database, id)).rejects.toThrow('content');
    expect(await recover(webhook, { since })).toMatchObject({ queued: 0, complete: true });
    // Nor to a webhook that missed the event.
    await scene.api.patch(`/v1/webhooks/${off.id}`, { isActive: true });
    expect(await recover(off, { since })).toMatchObject({ queued: 0, complete: true });
    expect(scene.receiver.to(webhook.path)).toHaveLength(1);
  });

  test('that another delivery of the event still needs goes after that', async () => {
    let status = 503;
    const done = await scene.subscribe();
    const slow = await scene.subscribe({}, () => ({ status, body: 'theirs', headers: { 'retry-after': '1' } }));
    await scene.run();
    const { id, eventId } = await scene.reaches(done.id, 'delivered');
    const { id: slowId } = await scene.reaches(slow.id, 'retrying');
    const sweep = expungeSweep(scene.product.database);
    expect((await expunge(done, id)).status).toBe(200);
    await sweep();
    expect(await detailOf(done, id)).toMatchObject({ requestBody: null, contentExpungedAt: time });
    expect(await detailOf(slow, slowId)).toMatchObject({ requestBody: expect.any(String), contentExpungedAt: null });
    expect((await listed(eventId)).data).toBeInstanceOf(Object);
    expect(await scene.api.post(`${pathOf(slow, slowId)}/resend`)).toMatchObject(conflict);
    status = 200;
    await scene.reaches(slow.id, 'delivered');
    await sweep();
    expect(JSON.parse(scene.receiver.to(slow.path).at(-1)!.body).data).toBeInstanceOf(Object);
    expect(await factsOf(eventId)).toEqual({ facts: null, at: expect.any(String) });
    expect((await listed(eventId)).data).toBeNull();
    // The answers to it stay until they are removed too.
    expect(await detailOf(slow, slowId)).toMatchObject({
      requestBody: null,
      responseBody: 'theirs',
      contentExpungedAt: time,
    });
    await expunge(slow, slowId);
    expect(await detailOf(slow, slowId)).toMatchObject({ responseBody: null });
  });

  test('is not brought back by an attempt that was under way', async () => {
    // Begins anew where a machine was so busy that the time of the attempt was over before its answer.
    const delivery = await until('an answer comes in time', async () => {
      const { promise: after, resolve: answerNow } = Promise.withResolvers<void>();
      const webhook = await scene.subscribe({}, () => ({ status: 200, body: 'late', after }));
      await scene.run();
      await scene.receiver.has(webhook.path, 1);
      await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: false });
      const { id } = await scene.reaches(webhook.id, 'dead_lettered');
      await expunge(webhook, id);
      answerNow();
      const isOver = `select from delivery where id = $1 and (leased_until is null or leased_until < clock_timestamp())`;
      await until('the attempt is over', async () => {
        return (await scene.product.database.pool.query(isOver, [deliveryIds.parse(id)])).rowCount === 1;
      });
      const detail = await detailOf(webhook, id);
      return detail.status === 'delivered' && detail.attempts === 1 && detail;
    });
    expect(delivery).toMatchObject({ responseBody: null, requestBody: null, attemptLog: [{ responseBody: null }] });
  });

  test('is sent whole or not at all, even if it is resent at the same time', async () => {
    const webhook = await scene.subscribe();
    const count = 10;
    for (let made = 0; made < count; made++) await scene.run();
    const delivered = await until('all are delivered', async () => {
      const all = await scene.deliveries(webhook.id, '&status=delivered');
      return all.length === count && all;
    });
    await Promise.all(
      delivered.flatMap(({ id }) => [
        scene.api.post(`${pathOf(webhook, id)}/resend`).then(({ status }) => expect([202, 409]).toContain(status)),
        expunge(webhook, id).then(({ status }) => expect(status).toBe(200)),
      ]),
    );
    await until('none waits', async () => {
      const all = await scene.deliveries(webhook.id);
      return all.every(({ status }) => status === 'delivered');
    });
    await expungeSweep(scene.product.database)();
    const bodies = scene.receiver.to(webhook.path).map(({ body }) => JSON.parse(body));
    expect(bodies.every(({ data }) => data && typeof data.id === 'string')).toBe(true);
    for (const { eventId } of delivered) expect((await factsOf(eventId)).facts).toBeNull();
  });
});

describe('a recovery is narrowed', () => {
  const replies: Reply[] = [{ status: 404 }, { status: 500 }, 'reset'];

  test('to dead letters with a class of status', async () => {
    const since = new Date().toISOString();
    let isDown = true;
    const script = (nth: number): Reply => (isDown ? replies[nth - 1]! : { status: 200 });
    const webhook = await scene.subscribe({ maxAttempts: 1 }, script);
    for (const _ of replies) await scene.run();
    await until('all are dead letters', async () => {
      return (await scene.deliveries(webhook.id, '&status=dead_lettered')).length === replies.length;
    });
    isDown = false;
    for (const [nth, statusClass] of ['5xx', '4xx', 'error'].entries()) {
      expect(await recover(webhook, { since, statusClass })).toMatchObject({ queued: 1, complete: true });
      await until('it arrives', async () => {
        return (await scene.deliveries(webhook.id, '&status=delivered')).length === nth + 1;
      });
    }
    // Events without a delivery have no status.
    await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: false });
    await scene.run();
    await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: true });
    expect(await recover(webhook, { since, statusClass: 'error' })).toMatchObject({ queued: 0, complete: true });
    expect(await recover(webhook, { since })).toMatchObject({ queued: 1, complete: true });
  });

  test('to event types, and to a time', async () => {
    const since = new Date().toISOString();
    const webhook = await scene.subscribe({ events: ['workflow.run.completed', 'workflow.run.started'] });
    await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: false });
    await scene.run();
    const until1 = new Date().toISOString();
    await scene.run();
    await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: true });
    const eventTypes = ['workflow.run.started'];
    expect(await recover(webhook, { since, until: since })).toMatchObject({ queued: 0, complete: true });
    expect(await recover(webhook, { since, until: until1, eventTypes })).toMatchObject({ queued: 1, complete: true });
    expect(await recover(webhook, { since, eventTypes })).toMatchObject({ queued: 1, complete: true });
    expect(await recover(webhook, { since, until: until1 })).toMatchObject({ queued: 1, complete: true });
    expect(await recover(webhook, { since })).toMatchObject({ queued: 1, complete: true });
  });

  test.each([
    [{ until: '2026-01-01T00:00:00Z' }, 'until'],
    [{ until: 'tomorrow' }, 'until'],
    [{ eventTypes: [] }, 'eventTypes'],
    [{ eventTypes: ['*'] }, 'eventTypes.0'],
    [{ statusClass: '2xx' }, 'statusClass'],
    [{ statusClass: ['4xx'] }, 'statusClass'],
  ])('but not by %j', async (given, path) => {
    const webhook = await scene.subscribe();
    const since = new Date().toISOString();
    expect(await scene.api.post(`/v1/webhooks/${webhook.id}/recover`, { since, ...given })).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path }] } } },
    });
  });
});
