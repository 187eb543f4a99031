import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { runCancelled } from '../../src/automation/core/events.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { newId } from '../../src/platform/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { publishEvent } from '../../src/webhooks/deliveries/publish-event.ts';
import { type AttemptOutcome, loadAttempts } from '../../src/webhooks/dispatch/attempt.ts';
import { AttemptRecorder } from '../../src/webhooks/dispatch/attempt-recorder.ts';
import { defaultDeliveryPolicy } from '../../src/webhooks/dispatch/delivery-policy.ts';
import { apiClient } from '../api-client.ts';
import { cutWaiting } from '../cut-waiting.ts';
import { whileHeld } from '../hold-lock.ts';
import { until } from '../until.ts';
import { deadLetter } from './dead-letter.ts';
import { addDelivery } from './rows.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
beforeAll(async () => {
  scene = await sharedWebhookScene();
});
afterAll(() => scene.close());

const times = <Result>(count: number, make: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)));
const sendTests = (id: string, count: number) => times(count, () => scene.api.post(`/v1/webhooks/${id}/test`));
const arrived = (id: string, count: number) =>
  until(`${count} are delivered`, async () => (await scene.deliveries(id, '&status=delivered')).length === count);
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();

describe('replays', () => {
  test('fifty at once of one dead letter are one', async () => {
    const letter = await deadLetter(scene);
    letter.mend();
    const path = `/v1/webhooks/${letter.id}/deliveries/${letter.deliveryId}/replay`;
    const answers = await times(50, () => scene.api.post(path));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([202, ...Array.from({ length: 49 }, () => 409)]);
    const delivery = await scene.reaches(letter.id, 'delivered');
    expect(delivery.attempts).toBe(2);
    expect(scene.receiver.to(letter.path)).toHaveLength(2);
  });

  test('recoveries at once renew each dead letter once', async () => {
    let status = 500;
    const { id, path } = await scene.subscribe({ maxAttempts: 1 }, () => ({ status }));
    await sendTests(id, 8);
    await until('all are given up', async () => (await scene.deliveries(id, '&status=dead_lettered')).length === 8);
    status = 200;
    const answers = await times(6, () => scene.api.post(`/v1/webhooks/${id}/recover`, { since: ago(3_600_000) }));
    for (const answer of answers) expect(answer).toMatchObject({ status: 202, body: { data: { complete: true } } });
    expect(answers.reduce((sum, { body }) => sum + body.data.queued, 0)).toBe(8);
    await arrived(id, 8);
    expect(scene.receiver.to(path)).toHaveLength(16);
  });

  test.each([
    ['', {}],
    [' whose filter it matches', { filter: 'event.type == "workflow.run.cancelled"' }],
  ])('an event that is recorded while a webhook%s is turned on and recovered is delivered once', async (_, fields) => {
    const { id, path } = await scene.subscribe({ ...fields, events: [runCancelled.type] });
    const setActive = (isActive: boolean) => scene.api.patch(`/v1/webhooks/${id}`, { isActive });
    const recover = () => scene.api.post(`/v1/webhooks/${id}/recover`, { since: ago(3_600_000) });
    expect((await setActive(false)).status).toBe(200);
    const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
    const scope = new Scope(scene.product.database, { organizationId, environment: 'test' }, 'test');
    const run = { runId: newId(), automationId: newId(), name: 'x', status: 'cancelled', durationMs: 0, tokensUsed: 0 };
    await scope.transaction(async (tx) => {
      await publishEvent(tx, runCancelled, run.runId, run);
      expect((await setActive(true)).status).toBe(200);
      expect((await recover()).status).toBe(202);
    });
    await arrived(id, 1);
    expect((await recover()).status).toBe(202);
    await sendTests(id, 1);
    await arrived(id, 2);
    expect(scene.receiver.to(path)).toHaveLength(2);
  });

  test('wait for whoever turns the webhook off at the same moment, and are refused then', async () => {
    const letter = await deadLetter(scene);
    const setActive = (isActive: boolean) =>
      `update webhook_subscription set is_active = ${isActive} where id = '${webhookIds.parse(letter.id)}'`;
    // Begins anew where a machine was so busy that PostgreSQL ended the wait for the lock.
    const refused = await until('it waits, and not too long', async () => {
      await scene.product.database.pool.query(setActive(true));
      const { replay } = await whileHeld(scene.product, setActive(false), async (off) => {
        let answered = false;
        const asked = scene.api.post(`/v1/webhooks/${letter.id}/deliveries/${letter.deliveryId}/replay`).finally(() => {
          answered = true;
        });
        const waits = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';
        await until('it waits, or does not', async () => answered || (await off.query(waits)).rowCount! > 0);
        await off.query('commit');
        return { replay: asked };
      });
      const answer = await replay;
      return answer.status !== 503 && answer;
    });
    expect(refused).toMatchObject({ status: 409, body: { error: { message: expect.stringMatching(/off/) } } });
    expect(await scene.deliveries(letter.id)).toMatchObject([{ status: 'dead_lettered', attempts: 1 }]);
  });
});

describe('a change while deliveries are under way', () => {
  test('another url: each arrives once, here or there', async () => {
    const { id, path } = await scene.subscribe({ concurrency: 4 }, () => ({ status: 200, afterMs: 20 }));
    await sendTests(id, 60);
    const elsewhere = `${path}-elsewhere`;
    expect((await scene.api.patch(`/v1/webhooks/${id}`, { url: scene.receiver.url(elsewhere) })).status).toBe(200);
    await arrived(id, 60);
    const requests = [...scene.receiver.to(path), ...scene.receiver.to(elsewhere)];
    expect(requests).toHaveLength(60);
    expect(new Set(requests.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
  });

  test('less concurrency than are under way', async () => {
    const { promise: after, resolve: answer } = Promise.withResolvers<void>();
    const { id, path } = await scene.subscribe({ concurrency: 16 }, () => ({ status: 200, after }));
    const sent = sendTests(id, 30);
    await scene.receiver.has(path, 10);
    expect((await scene.api.patch(`/v1/webhooks/${id}`, { concurrency: 1 })).status).toBe(200);
    answer();
    await sent;
    await arrived(id, 30);
    expect(scene.receiver.to(path)).toHaveLength(30);
  });

  test('new secrets: every request verifies under a returned one', async () => {
    const { id, path, secret } = await scene.subscribe({}, () => ({ status: 200, afterMs: 10 }));
    const sent = sendTests(id, 40);
    const rotations = await times(2, () => scene.api.post(`/v1/webhooks/${id}/rotate-secret`));
    await sent;
    await arrived(id, 40);
    const secrets = [secret, ...rotations.map(({ body }) => body.data.secret)];
    for (const { body, headers } of scene.receiver.to(path)) {
      const verifies = (by: string) => {
        try {
          return Boolean(new Webhook(by).verify(body, headers as Record<string, string>));
        } catch {
          return false;
        }
      };
      expect(secrets.some(verifies)).toBe(true);
    }
  });

  test('its deletion: what is under way changes nothing more', async () => {
    const rowsOf = async (id: string) => {
      const rows = 'select status, error_class, attempts from delivery where subscription_id = $1';
      return (await scene.product.database.pool.query(rows, [webhookIds.parse(id)])).rows;
    };
    // Begins anew where a machine was so busy that an attempt was over before the deletion.
    const { id, path, answer } = await until('it is deleted during the first attempts', async () => {
      const { promise: after, resolve } = Promise.withResolvers<void>();
      const of = await scene.subscribe({ concurrency: 2 }, () => ({ status: 200, after }));
      await sendTests(of.id, 6);
      await scene.receiver.has(of.path, 2);
      expect((await scene.api.delete(`/v1/webhooks/${of.id}`)).status).toBe(200);
      const isLate = (await rowsOf(of.id)).some(({ attempts }) => attempts > 0);
      if (isLate) resolve();
      return !isLate && { ...of, answer: resolve };
    });
    const failed = { status: 'failed', error_class: 'subscription_deleted', attempts: 0 };
    expect(await rowsOf(id)).toEqual(Array.from({ length: 6 }, () => failed));
    answer();
    const other = await scene.subscribe();
    await sendTests(other.id, 20);
    await arrived(other.id, 20);
    expect(await rowsOf(id)).toEqual(Array.from({ length: 6 }, () => failed));
    expect(scene.receiver.to(path)).toHaveLength(2);
  });
});

test('a success counts after another attempt failed beside it, also if the database is interrupted then', async () => {
  const { database } = scene.product;
  const { id } = await scene.subscribe({ maxAttempts: 2 });
  const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
  const scope = new Scope(database, { organizationId, environment: 'test' }, 'test');
  // Only the test makes attempts of these.
  const begin = async (status: number): Promise<AttemptOutcome> => {
    const [work] = await loadAttempts(scope, [deliveryIds.parse(await addDelivery(database, id))!]);
    const answer = { responseBody: null, responseBodyTruncated: false };
    return { work: work!, result: { status }, startedAt: new Date(), durationMs: 1, ...answer };
  };
  const [failure, success] = [await begin(500), await begin(200)];
  const uuid = webhookIds.parse(id)!;
  const failuresInARow = async () => {
    const sql = 'select consecutive_failures as count from webhook_subscription where id = $1';
    return (await database.pool.query(sql, [uuid])).rows[0].count;
  };
  const recorder = new AttemptRecorder(pino({ level: 'silent' }), defaultDeliveryPolicy, () => false);
  expect(await recorder.record(scope, failure)).toMatchObject({ status: 'dead_lettered' });
  expect(await failuresInARow()).toBe(1);
  const lock = `select from webhook_subscription where id = '${uuid}' for no key update`;
  const { recorded } = await whileHeld(scene.product, lock, async (holder) => {
    const recording = recorder.record(scope, success);
    await cutWaiting(holder);
    return { recorded: recording };
  });
  await recorded;
  expect(await failuresInARow()).toBe(0);
});

test('strangers can ask for nothing, and change nothing by asking', async () => {
  const letter = await deadLetter(scene);
  const stranger = await scene.product.createTenant({ plan: 'enterprise' });
  const strangers = apiClient(scene.process.api, stranger.testKey);
  const own = (await strangers.post('/v1/webhooks', { name: 'Own', url: scene.receiver.url('/own'), events: ['*'] }))
    .body.data.id;
  const ofLetter = `/v1/webhooks/${letter.id}`;
  const since = { since: ago(3_600_000) };
  for (const client of [strangers, apiClient(scene.process.api, scene.tenant.liveKey)]) {
    const answers = [
      await client.post(`${ofLetter}/test`),
      await client.post(`${ofLetter}/recover`, since),
      await client.post(`${ofLetter}/rotate-secret`),
      await client.patch(ofLetter, { isActive: false, url: scene.receiver.url('/stolen') }),
      await client.delete(ofLetter),
      await client.get(`${ofLetter}/deliveries`),
      await client.get(`${ofLetter}/deliveries/${letter.deliveryId}`),
      await client.post(`${ofLetter}/deliveries/${letter.deliveryId}/replay`),
      await client.get(`/v1/webhooks/${own}/deliveries/${letter.deliveryId}`),
      await client.post(`/v1/webhooks/${own}/deliveries/${letter.deliveryId}/replay`),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
  }
  expect(await scene.deliveries(letter.id)).toMatchObject([{ id: letter.deliveryId, status: 'dead_lettered' }]);
  expect((await scene.api.get(ofLetter)).body.data).toMatchObject({ isActive: true });
  expect(scene.receiver.to(letter.path)).toHaveLength(1);
});
