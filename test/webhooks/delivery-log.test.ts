import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { disableSubscription } from '../../src/webhooks/subscriptions/disable-subscription.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { addDelivery } from './rows.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const given = { name: 'Orders', url: 'https://hooks.example.com', events: ['workflow.run.failed'] };
const pathOf = (id: string) => `/api/v1/webhooks/${id}`;
let made = 0;
const make = async (): Promise<string> =>
  (await api.post('/api/v1/webhooks', { ...given, url: `${given.url}/${made++}` })).body.data.id;
const list = async (id: string, query = '') => (await api.get(`${pathOf(id)}/deliveries${query}`)).body.data;
const statuses = async (id: string) => {
  const { deliveries } = await list(id);
  return Object.fromEntries(deliveries.map((one: { id: string }) => [one.id, one]));
};

/** One of each status, oldest first. */
async function addEach(id: string): Promise<Record<string, string>> {
  const added: [string, string][] = [];
  for (const status of ['pending', 'retrying', 'delivered', 'failed', 'dead_lettered']) {
    added.push([status, await addDelivery(product.database, id, { status, attempts: status === 'pending' ? 0 : 2 })]);
  }
  return Object.fromEntries(added);
}

const column = async (id: string, name: string) => {
  const { rows } = await product.database.pool.query(
    `select ${name} as value from webhook_subscription where id = $1`,
    [webhookIds.parse(id)],
  );
  return rows[0].value;
};

describe('the log of deliveries', () => {
  test('shows how each stands, newest first, by pages and by filters', async () => {
    const id = await make();
    const added = await addEach(id);
    const late = await addDelivery(product.database, id, { status: 'delivered', eventType: 'test.webhook' });
    const all = [late, ...Object.values(added).toReversed()];
    const ids = ({ deliveries }: { deliveries: { id: string }[] }) => deliveries.map((one) => one.id);
    const page = await list(id);
    expect(ids(page)).toEqual(all);
    expect(page.pagination).toEqual({ total: 6, limit: 50, offset: 0, hasMore: false });
    expect(page.deliveries[1]).toEqual({
      id: added.dead_lettered,
      eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      eventType: 'workflow.run.completed',
      status: 'dead_lettered',
      statusCode: 503,
      responseBody: 'Busy.',
      responseBodyTruncated: false,
      durationMs: 12,
      attempts: 2,
      retryCount: 1,
      nextAttemptAt: null,
      errorClass: null,
      replayable: true,
      contentExpungedAt: null,
      isTest: false,
      heldBack: null,
      correlationId: 'test',
      createdAt: expect.any(String),
    });
    expect((await statuses(id))[added.pending!]).toMatchObject({ attempts: 0, retryCount: 0, replayable: false });
    expect(ids(await list(id, '?limit=2&offset=1'))).toEqual(all.slice(1, 3));
    expect((await list(id, '?limit=2')).pagination).toMatchObject({ total: 6, hasMore: true });
    expect(ids(await list(id, '?status=delivered'))).toEqual([late, added.delivered]);
    expect(ids(await list(id, '?status=DEAD_LETTERED'))).toEqual([added.dead_lettered]);
    expect(ids(await list(id, '?eventType=test.webhook'))).toEqual([late]);
    expect(await list(id, '?status=failed&eventType=test.webhook')).toMatchObject({ pagination: { total: 0 } });
    for (const query of [
      'status=gone',
      'status=',
      'status=failed&status=failed',
      'eventType=*',
      'eventType=x',
      'limit=0',
    ]) {
      expect(await api.get(`${pathOf(id)}/deliveries?${query}`)).toMatchObject({
        status: 400,
        body: { error: { details: { errors: [{ path: query.split('=')[0] }] } } },
      });
    }
  });

  test('has each attempt of one', async () => {
    const id = await make();
    const delivery = await addDelivery(product.database, id, { status: 'dead_lettered', attempts: 3 });
    const { status, body } = await api.get(`/v1/webhooks/${id}/deliveries/${delivery}`);
    expect(status).toBe(200);
    const { requestBody, attemptLog, ...entry } = body.data;
    expect(JSON.parse(requestBody)).toMatchObject({ id: entry.eventId, type: entry.eventType });
    expect(entry).toEqual((await list(id)).deliveries[0]);
    expect(attemptLog).toEqual(
      [1, 2, 3].map((number) => ({
        number,
        startedAt: entry.createdAt,
        durationMs: 10 + number,
        statusCode: 503,
        responseBody: 'Busy.',
        responseBodyTruncated: false,
        errorClass: null,
      })),
    );
    const long = await addDelivery(product.database, id, { status: 'failed', attempts: 105 });
    const latest = (await api.get(`/v1/webhooks/${id}/deliveries/${long}`)).body.data.attemptLog;
    expect(latest.map((one: { number: number }) => one.number)).toEqual(Array.from({ length: 100 }, (_, n) => n + 6));
  });

  test('is that of its own webhook, of its tenant, while there is one', async () => {
    const [id, other] = [await make(), await make()];
    const delivery = await addDelivery(product.database, id);
    const noDelivery = { status: 404, body: { error: { code: 'not_found', details: { deliveryId: delivery } } } };
    expect(await api.get(`${pathOf(other)}/deliveries/${delivery}`)).toMatchObject(noDelivery);
    expect(await api.post(`${pathOf(other)}/deliveries/${delivery}/replay`)).toMatchObject(noDelivery);
    const noWebhook = { status: 404, body: { error: { code: 'not_found', details: { webhookId: id } } } };
    const paths = [`${pathOf(id)}/deliveries`, `${pathOf(id)}/deliveries/${delivery}`];
    const live = apiClient(product.process.api, product.tenant.liveKey);
    for (const path of paths) expect(await live.get(path)).toMatchObject(noWebhook);
    await api.delete(pathOf(id));
    for (const path of paths) expect(await api.get(path)).toMatchObject(noWebhook);
  });
});

describe('a webhook that is turned off', () => {
  test('dead-letters what is on its way, and nothing else', async () => {
    const id = await make();
    const added = await addEach(id);
    const elsewhere = await make();
    const untouched = await addDelivery(product.database, elsewhere);
    const off = await api.patch(pathOf(id), { isActive: false, name: 'Off' });
    expect(off.body.data).toMatchObject({ isActive: false, disabledReason: null, name: 'Off' });
    const seen = await statuses(id);
    const given = { status: 'dead_lettered', errorClass: 'subscription_off', nextAttemptAt: null, replayable: true };
    expect(seen[added.pending!]).toMatchObject(given);
    expect(seen[added.retrying!]).toMatchObject({ ...given, statusCode: 503 });
    for (const status of ['delivered', 'failed', 'dead_lettered']) {
      expect(seen[added[status]!]).toMatchObject({ status, errorClass: null });
    }
    expect((await statuses(elsewhere))[untouched]).toMatchObject({ status: 'retrying' });
    for (const path of ['test', `deliveries/${added.dead_lettered}/replay`]) {
      expect(await api.post(`${pathOf(id)}/${path}`)).toMatchObject({
        status: 409,
        body: { error: { code: 'conflict' } },
      });
    }
  });

  test('says why, until its owner turns it on: then nothing has failed yet', async () => {
    const id = await make();
    const uuid = webhookIds.parse(id)!;
    const { database, tenant } = product;
    await database.pool.query(
      `update webhook_subscription set consecutive_failures = 12, next_probe_at = now(), failing_since = now(),
              last_failed_at = now() where id = $1`,
      [uuid],
    );
    const whose = { organizationId: organizationIds.parse(tenant.organizationId)!, environment: 'test' } as const;
    const off = (reason: 'gone' | 'failing' | null) =>
      new Scope(database, whose, 'test').transaction((scope) => disableSubscription(scope, uuid, reason));
    await off('gone');
    const at = await column(id, 'disabled_at');
    // What comes later is caught, and the first reason stays.
    const late = await addDelivery(database, id);
    await off('failing');
    await api.patch(pathOf(id), { isActive: false });
    expect((await api.get(pathOf(id))).body.data).toMatchObject({ isActive: false, disabledReason: 'gone' });
    expect(await column(id, 'disabled_at')).toEqual(at);
    expect((await statuses(id))[late]).toMatchObject({ status: 'dead_lettered' });

    const on = await api.patch(pathOf(id), { isActive: true });
    expect(on.body.data).toMatchObject({ isActive: true, disabledReason: null });
    expect(await column(id, 'disabled_at')).toBeNull();
    expect(await column(id, 'consecutive_failures')).toBe(0);
    for (const name of ['next_probe_at', 'failing_since', 'last_failed_at']) expect(await column(id, name)).toBeNull();
    expect((await statuses(id))[late]).toMatchObject({ status: 'dead_lettered' });
  });

  test('at another url it is tried anew, at the same one it is not', async () => {
    const id = await make();
    const failed = () =>
      product.database.pool.query('update webhook_subscription set consecutive_failures = 3 where id = $1', [
        webhookIds.parse(id),
      ]);
    await failed();
    await api.patch(pathOf(id), { url: `${given.url}/${made - 1}`, name: 'Same' });
    expect(await column(id, 'consecutive_failures')).toBe(3);
    await api.patch(pathOf(id), { url: 'https://elsewhere.example.com' });
    expect(await column(id, 'consecutive_failures')).toBe(0);
  });
});

test('a webhook that is deleted fails for ever what has not reached it', async () => {
  const id = await make();
  const added = await addEach(id);
  await api.delete(pathOf(id));
  const { rows } = await product.database.pool.query(
    'select id, status, error_class, next_attempt_at, finished_at from delivery where subscription_id = $1',
    [webhookIds.parse(id)],
  );
  const seen = Object.fromEntries(rows.map((row) => [row.id, row]));
  for (const [before, delivery] of Object.entries(added)) {
    const isOver = ['delivered', 'failed'].includes(before);
    expect(seen[deliveryIds.parse(delivery)!]).toMatchObject(
      isOver
        ? { status: before, error_class: null }
        : {
            status: 'failed',
            error_class: 'subscription_deleted',
            next_attempt_at: null,
            finished_at: expect.anything(),
          },
    );
  }
  expect(await api.post(`${pathOf(id)}/test`)).toMatchObject({ status: 404 });
});

describe('an Idempotency-Key', () => {
  const keyed = (key: string) => ({ 'idempotency-key': key });
  const isReplayed = (answer: { headers: Headers }) => answer.headers.get('idempotent-replayed') === 'true';

  test('makes one test event of many requests', async () => {
    const id = await make();
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => api.post(`${pathOf(id)}/test`, undefined, keyed('test'))),
    );
    expect(answers[0]!.body.data).toEqual({ deliveryId: expect.stringMatching(/^dlv_/), status: 'pending' });
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: answers[0]!.body });
    expect(answers.filter(isReplayed)).toHaveLength(5);
    const { deliveries } = await list(id);
    expect(deliveries).toMatchObject([{ id: answers[0]!.body.data.deliveryId, eventType: 'test.webhook' }]);
  });

  test('replays once, and is not used up by a refusal', async () => {
    const id = await make();
    const delivery = await addDelivery(product.database, id, { status: 'delivered' });
    const replay = () => api.post(`${pathOf(id)}/deliveries/${delivery}/replay`, undefined, keyed('replay'));
    expect(await replay()).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
    await product.database.pool.query(`update delivery set status = 'dead_lettered' where id = $1`, [
      deliveryIds.parse(delivery),
    ]);
    const answers = [await replay(), await replay(), await api.post(`${pathOf(id)}/deliveries/${delivery}/replay`)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 409]);
    expect(answers[0]!.body.data).toEqual({ deliveryId: delivery, status: 'pending' });
    expect(answers.map(isReplayed)).toEqual([false, true, false]);
  });

  test('recovers once', async () => {
    const id = await make();
    for (let n = 0; n < 3; n++) await addDelivery(product.database, id, { status: 'dead_lettered' });
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const recover = (key: string, from = since) => api.post(`${pathOf(id)}/recover`, { since: from }, keyed(key));
    const first = await recover('recovery');
    expect(first).toMatchObject({
      status: 202,
      body: { data: { recoveryId: expect.stringMatching(/^rcv_/), queued: 3 } },
    });
    const again = await recover('recovery');
    expect(again.body).toEqual(first.body);
    expect(isReplayed(again)).toBe(true);
    expect((await recover('another')).body.data.queued).toBe(0);
    expect((await recover('recovery', new Date().toISOString())).status).toBe(422);
  });
});

test('a time to recover from has an offset and is within the days that the plan keeps', async () => {
  const id = await make();
  const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
  const day = 86_400_000;
  const wrong = [undefined, '', 5, 'yesterday', '2026-11-20', ago(0).slice(0, -1), ago(-60_000), ago(3_651 * day)];
  for (const since of wrong) {
    expect(await api.post(`${pathOf(id)}/recover`, { since })).toMatchObject({
      status: 400,
      body: { error: { details: { errors: [{ path: 'since' }] } } },
    });
  }
  expect((await api.post(`${pathOf(id)}/recover`, { since: ago(3_649 * day) })).status).toBe(202);
  await api.patch(pathOf(id), { isActive: false });
  expect(await api.post(`${pathOf(id)}/recover`, { since: ago(day) })).toMatchObject({ status: 409 });
});
