import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { deliveryIds } from '../../src/webhooks/core/ids.ts';
import { forgetOldDeliveries } from '../../src/webhooks/retention.ts';
import { addDelivery } from './rows.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

test('what is over is forgotten after 90 days, its event when nobody can recover it any more', async () => {
  const { pool } = scene.product.database;
  const { id } = await scene.subscribe();
  const send = async () => (await scene.api.post(`/v1/webhooks/${id}/test`)).body.data.deliveryId as string;
  const [fresh, old, ancient] = [await send(), await send(), await send()];
  for (const deliveryId of [fresh, old, ancient]) {
    await scene.receiver.has('/hook-1', 3);
    const path = `/v1/webhooks/${id}/deliveries/${deliveryId}`;
    while ((await scene.api.get(path)).body.data.status !== 'delivered');
  }
  // Ids say when a row came to be, so old ones need other ids.
  const age = async (deliveryId: string, days: number) => {
    const uuid = deliveryId.slice('dlv_'.length);
    await pool.query(
      `with aged as (select uuidv7(make_interval(days => -$2::int)) as id, uuidv7(make_interval(days => -$2::int)) as event),
       attempt as (insert into delivery_attempt select a.id, 2, organization_id, environment, started_at, duration_ms,
                     status_code, response_body, response_body_truncated, error_class
                     from delivery_attempt, aged a where delivery_id = $1),
       copied as (insert into event select a.event, organization_id, environment, type, subject_id, facts, correlation_id,
                    created_at from event, aged a where event.id = (select event_id from delivery where id = $1)),
       removed as (delete from delivery_attempt where delivery_id = $1)
       update delivery d set id = a.id, event_id = a.event from aged a where d.id = $1`,
      [uuid, days],
    );
  };
  await age(old, 92);
  await age(ancient, 186);
  const count = async (table: string) => (await pool.query(`select count(*)::int as n from ${table}`)).rows[0].n;
  expect(await forgetOldDeliveries(scene.product.database, 100)).toBe(2);
  expect(await forgetOldDeliveries(scene.product.database, 100)).toBe(0);
  expect([await count('delivery'), await count('delivery_attempt')]).toEqual([1, 1]);
  // The three it began with, and the copy that is 92 days old.
  expect(await count('event')).toBe(4);
  expect((await scene.deliveries(id)).map((delivery) => delivery.id)).toEqual([fresh]);

  // What a webhook missed up to 90 days ago, and what was dead-lettered since, can be recovered.
  const day = 86_400_000;
  const at = (days: number) => new Date(Date.now() - days * day).toISOString();
  await pool.query('update webhook_subscription set created_at = $1', [at(180)]);
  await addDelivery(scene.product.database, id, { status: 'dead_lettered', createdAt: at(88) });
  const missed = await addDelivery(scene.product.database, id, { status: 'delivered', createdAt: at(89), attempts: 0 });
  await pool.query('delete from delivery where id = $1', [deliveryIds.parse(missed)]);
  const recovered = await scene.api.post(`/v1/webhooks/${id}/recover`, { since: at(89.9) });
  expect(recovered.body.data).toEqual({
    recoveryId: expect.stringMatching(/^rcv_[0-9a-f]{32}$/),
    queued: 2,
    complete: true,
  });
  expect(await forgetOldDeliveries(scene.product.database, 100)).toBe(0);
});
