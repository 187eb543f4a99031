import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { until } from '../until.ts';
import { type SharedWebhookScene, type Subscribed, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

interface Health {
  state: string;
  failingSince: string | null;
  nextProbeAt: string | null;
  waiting: number;
  deadLettered: number;
  successRate24h: number | null;
}

const untried = { state: 'healthy', failingSince: null, nextProbeAt: null, waiting: 0, deadLettered: 0, skipped: 0 };
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
const healthOf = async ({ id }: Pick<Subscribed, 'id'>, headers = {}): Promise<Health> =>
  (await scene.api.get(`/v1/webhooks/${id}`, headers)).body.data.health;
const becomes = (state: string, of: Subscribed) =>
  until(`the webhook is ${state}`, async () => {
    const health = await healthOf(of);
    return health.state === state && health;
  });
const send = ({ id }: Subscribed) => scene.api.post(`/v1/webhooks/${id}/test`);
const sql = (text: string, values: unknown[]) => scene.product.database.pool.query(text, values);

/** It listens to nothing but tests. */
const quiet = { events: ['workflow.run.failed'] };

describe('the health of a webhook', () => {
  test.each(['A', 'B'])('before its first attempt, and after one that succeeded, in dialect %s', async (variant) => {
    const headers = { 'x-api-variant': variant };
    const webhook = await scene.subscribe(quiet);
    expect(await healthOf(webhook, headers)).toEqual({ ...untried, successRate24h: null });
    await send(webhook);
    await scene.reaches(webhook.id, 'delivered');
    expect(await healthOf(webhook, headers)).toEqual({ ...untried, successRate24h: 1 });
    // Only the webhook itself has it: lists would have to count for each.
    const { body } = await scene.api.get('/v1/webhooks', headers);
    expect(body.data.webhooks[0]).not.toHaveProperty('health');
  });

  test('after a failure, while the breaker is open, and once its receiver answers again', async () => {
    let status = 500;
    const webhook = await scene.subscribe(quiet, () => ({ status }));
    await send(webhook);
    expect(await becomes('failing', webhook)).toEqual({
      state: 'failing',
      failingSince: time,
      nextProbeAt: null,
      waiting: 1,
      deadLettered: 0,
      skipped: 0,
      successRate24h: 0,
    });
    for (let n = 0; n < 11; n++) await send(webhook);
    const open = await becomes('open', webhook);
    expect(open).toMatchObject({ failingSince: time, nextProbeAt: time, deadLettered: 0, successRate24h: 0 });
    expect(open.waiting).toBeGreaterThan(0);
    status = 200;
    const healthy = await until('everything has arrived', async () => {
      const health = await healthOf(webhook);
      return health.state === 'healthy' && health.waiting === 0 && health;
    });
    expect(healthy).toMatchObject({ failingSince: null, nextProbeAt: null, deadLettered: 0 });
    expect(healthy.successRate24h).toBeGreaterThan(0);
    expect(healthy.successRate24h).toBeLessThan(1);
  });

  test('with dead letters, and turned off', async () => {
    const webhook = await scene.subscribe({ ...quiet, maxAttempts: 1 }, () => ({ status: 500 }));
    await send(webhook);
    await scene.reaches(webhook.id, 'dead_lettered');
    const failing = { state: 'failing', failingSince: time, nextProbeAt: null };
    expect(await healthOf(webhook)).toEqual({ ...failing, waiting: 0, deadLettered: 1, skipped: 0, successRate24h: 0 });
    const open = `update webhook_subscription set next_probe_at = now() + interval '1 hour' where id = $1`;
    await sql(open, [webhookIds.parse(webhook.id)]);
    expect(await healthOf(webhook)).toMatchObject({ state: 'open', nextProbeAt: time });
    await scene.api.patch(`/v1/webhooks/${webhook.id}`, { isActive: false });
    expect(await healthOf(webhook)).toMatchObject({ nextProbeAt: null, deadLettered: 1 });
  });

  test('is that of one tenant alone', async () => {
    const webhook = await scene.subscribe(quiet, () => ({ status: 500 }));
    await send(webhook);
    await becomes('failing', webhook);
    const other = await scene.product.createTenant({ plan: 'enterprise' });
    const [stranger, live] = [apiClient(scene.process.api, other.testKey), apiClient(scene.process.api, other.liveKey)];
    for (const client of [stranger, live]) expect((await client.get(`/v1/webhooks/${webhook.id}`)).status).toBe(404);
    const body = { name: 'Theirs', url: scene.receiver.url(webhook.path), events: ['*'] };
    const { id } = (await stranger.post('/v1/webhooks', body)).body.data;
    const { data } = (await stranger.get(`/v1/webhooks/${id}`)).body;
    expect(data.health).toEqual({ ...untried, successRate24h: null });
  });

  test('counts attempts of the last 24 hours alone, and no more deliveries than it has to', async () => {
    const webhook = await scene.subscribe(quiet);
    await send(webhook);
    await scene.reaches(webhook.id, 'delivered');
    const id = webhookIds.parse(webhook.id);
    // The same hour of yesterday, and one of today.
    await sql(`update attempt_hour set hour = hour - interval '1 day', failed = 1000 where subscription_id = $1`, [id]);
    expect(await healthOf(webhook)).toMatchObject({ successRate24h: null });
    await sql(
      `insert into attempt_hour (subscription_id, slot, organization_id, environment, hour, delivered, failed)
       select subscription_id, (slot + 2) % 24, organization_id, environment, hour + interval '2 hours', 0, 1
         from attempt_hour where subscription_id = $1`,
      [id],
    );
    await send(webhook);
    await until(
      'the second arrived',
      async () => (await scene.deliveries(webhook.id, '&status=delivered')).length === 2,
    );
    expect((await healthOf(webhook)).successRate24h).toBe(0.5);

    await sql(
      `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts, schedule_attempts,
                             response_body_truncated, created_at, finished_at, parked_at)
       select uuidv7(), organization_id, environment, id, uuidv7(), 'test.webhook', 'dead_lettered', 1, 1, false, now(), now(), '-infinity'
         from webhook_subscription, generate_series(1, 10050) where id = $1`,
      [id],
    );
    expect(await healthOf(webhook)).toMatchObject({ waiting: 0, deadLettered: 10_000 });
  });
});
