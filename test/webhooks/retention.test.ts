import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { inBatches } from '../../src/platform/database/batches.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { forgetOldDeliveries, forgetOldRecoveries } from '../../src/webhooks/deliveries/retention.ts';
import { forgetDeletedSubscriptions } from '../../src/webhooks/subscriptions/deleted-subscriptions.ts';
import { until } from '../until.ts';
import { addDelivery } from './rows.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const day = 86_400_000;
const at = (days: number) => new Date(Date.now() - days * day).toISOString();
const query = (sql: string, ...values: unknown[]) => scene.product.database.pool.query(sql, values);
const setPlan = (plan: string) =>
  query('update organization set plan = $2 where id = $1', organizationIds.parse(scene.tenant.organizationId), plan);
const recover = (id: string, days: number) => scene.api.post(`/v1/webhooks/${id}/recover`, { since: at(days) });
const add = async (id: string, days: number, status = 'delivered') => {
  const delivery = await addDelivery(scene.product.database, id, { status, createdAt: at(days) });
  await query(
    `update delivery set finished_at = $2 where id = $1 and status not in ('pending', 'retrying')`,
    deliveryIds.parse(delivery),
    at(days),
  );
  return delivery;
};
const kept = async (id: string) => (await scene.deliveries(id)).map((delivery) => delivery.id).sort();
const attemptsOf = async (delivery: string) =>
  (await query('select from delivery_attempt where delivery_id = $1', deliveryIds.parse(delivery))).rowCount;
const eventsOf = async (...deliveries: string[]) =>
  (
    await query(
      'select e.id from event e join delivery d on d.event_id = e.id where d.id = any($1)',
      deliveries.map((id) => deliveryIds.parse(id)),
    )
  ).rowCount;

// The product's own sweeps may come first, or be at it: what is left counts, and not who removed the rest.
const forgetUntil = (what: string, isDone: () => Promise<boolean>) =>
  until(what, async () => {
    await forgetOldDeliveries(scene.product.database);
    return isDone();
  });

test('deliveries and their attempts are kept for the days of the plan, counted from their end', async () => {
  await setPlan('pro');
  const { id } = await scene.subscribe();
  const [fresh, old, ended, open] = [
    await add(id, 89),
    await add(id, 92),
    await add(id, 95),
    await add(id, 95, 'retrying'),
  ];
  await query('update delivery set finished_at = now() where id = $1', deliveryIds.parse(ended));
  await forgetUntil('one is gone', async () => (await kept(id)).length < 4);
  expect(await kept(id)).toEqual([fresh, ended, open].sort());
  expect([await attemptsOf(old), await attemptsOf(fresh)]).toEqual([0, 1]);

  await setPlan('free');
  // Goes with the events of the two that are gone by now.
  await forgetUntil('another one is gone', async () => (await kept(id)).length < 3);
  expect(await kept(id)).toEqual([ended, open].sort());
  // Their events are older than anything can recover, and are needed to show and to send what is left.
  expect(await eventsOf(ended, open)).toBe(2);
  const oldEvents = async () => (await query('select from event where created_at < $1', at(91))).rowCount!;
  await forgetUntil('the events of others are gone', async () => (await oldEvents()) <= 2);
  expect(await oldEvents()).toBe(2);
  expect(await forgetOldDeliveries(scene.product.database)).toBe(0);
});

test('more than a batch of a webhook is removed in one go, and nothing of another tenant', async () => {
  await setPlan('free');
  const { id } = await scene.subscribe();
  const first = await add(id, 40);
  await query(
    `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, response_body_truncated, created_at, finished_at)
     select gen_random_uuid(), organization_id, environment, subscription_id, gen_random_uuid(), event_type, status, 1, 1,
            false, created_at, finished_at
       from delivery, generate_series(1, 1200) where id = $1`,
    deliveryIds.parse(first),
  );
  const other = await scene.product.createTenant({ plan: 'enterprise' });
  const foreign = await add(id, 40);
  await query(
    'update delivery set organization_id = $2 where id = $1',
    deliveryIds.parse(foreign),
    organizationIds.parse(other.organizationId),
  );
  const left = async () =>
    (await query('select from delivery where subscription_id = $1', webhookIds.parse(id))).rowCount!;
  await forgetUntil('they are gone', async () => (await left()) <= 1);
  expect(await left()).toBe(1);
  expect((await query('select from delivery where id = $1', deliveryIds.parse(foreign))).rowCount).toBe(1);
});

test('recover reaches back as far as the plan keeps deliveries, and never behind what was removed', async () => {
  await setPlan('pro');
  await query('delete from event');
  const { id } = await scene.subscribe();
  await query('update webhook_subscription set created_at = $2 where id = $1', webhookIds.parse(id), at(180));
  await add(id, 88, 'dead_lettered');
  const missed = await add(id, 87);
  await query('delete from delivery_attempt where delivery_id = $1', deliveryIds.parse(missed));
  await query('delete from delivery where id = $1', deliveryIds.parse(missed));
  const refused = await recover(id, 91);
  expect(refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path: 'since' }] } } } });
  expect((await recover(id, 89.9)).body.data).toEqual({
    recoveryId: expect.stringMatching(/^rcv_[0-9a-f]{32}$/),
    queued: 2,
    complete: true,
  });

  // On a smaller plan for a while: what was delivered then and forgotten is not delivered again.
  const delivered = await scene.subscribe();
  await query('update webhook_subscription set created_at = $2 where id = $1', webhookIds.parse(delivered.id), at(180));
  await add(delivered.id, 60);
  await setPlan('free');
  expect((await recover(delivered.id, 31)).status).toBe(400);
  await forgetUntil('it is forgotten', async () => (await kept(delivered.id)).length === 0);
  await setPlan('pro');
  expect((await recover(delivered.id, 89.9)).body.data.queued).toBe(0);
});

test('a deleted webhook goes with the last of its deliveries', async () => {
  await setPlan('free');
  const { id } = await scene.subscribe();
  const uuid = webhookIds.parse(id);
  await add(id, 10);
  await recover(id, 5);
  expect((await scene.api.request('DELETE', `/v1/webhooks/${id}`)).status).toBe(200);
  const forget = () => inBatches((limit) => forgetDeletedSubscriptions(scene.product.database, limit));
  const isThere = async () => (await query('select from webhook_subscription where id = $1', uuid)).rowCount === 1;
  await query('update webhook_subscription set deleted_at = $2 where id = $1', uuid, at(31));
  await forget();
  expect(await isThere()).toBe(true);
  await query('update delivery set created_at = $2, finished_at = $2 where subscription_id = $1', uuid, at(40));
  await forgetUntil('the webhook is gone', async () => {
    await forget();
    return !(await isThere());
  });
  expect((await query('select from recovery where subscription_id = $1', uuid)).rowCount).toBe(0);
});

test('the progress of a recovery is removed after a quarter of a year', async () => {
  const { id } = await scene.subscribe();
  await recover(id, 1);
  await query(`update recovery set id = uuidv7(interval '-92 days') where subscription_id = $1`, webhookIds.parse(id));
  await forgetOldRecoveries(scene.product.database, 100);
  expect((await query('select from recovery where subscription_id = $1', webhookIds.parse(id))).rowCount).toBe(0);
});
