import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runCancelled } from '../../../src/automation/core/events.ts';
import { noticeTurnedOffWebhooks } from '../../../src/operations/webhook-notices.ts';
import { Scope } from '../../../src/platform/database/scope.ts';
import { newId } from '../../../src/platform/ids.ts';
import type { Mail } from '../../../src/platform/mail.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { updateOrganization } from '../../../src/tenancy/organizations.ts';
import { publishEvent } from '../../../src/webhooks/deliveries/publish-event.ts';
import { until } from '../../until.ts';
import type { Script } from '../../webhooks/receiver.ts';
import { openWebhookScene, type WebhookScene, webhookEnv } from '../../webhooks/scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const sendTests = (id: string, count: number) =>
  Promise.all(Array.from({ length: count }, () => scene.api.post(`/v1/webhooks/${id}/test`)));
/** Events that are no tests, to those who listen. */
const listening = { events: [runCancelled.type] };
async function announce(count: number): Promise<void> {
  const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
  const scope = new Scope(scene.product.database, { organizationId, environment: 'test' }, 'announced');
  for (let n = 0; n < count; n++) {
    const facts = {
      runId: newId(),
      automationId: newId(),
      name: 'x',
      status: 'cancelled',
      durationMs: 0,
      tokensUsed: 0,
    };
    await publishEvent(scope, runCancelled, facts.runId, facts);
  }
}
const all = (id: string, status: string, count: number) =>
  until(`${count} are ${status}`, async () => (await scene.deliveries(id, `&status=${status}`)).length === count);
const failing: Script = () => ({ status: 500 });
const uuidOf = (id: string) => id.slice(id.indexOf('_') + 1);

describe('a subscription', () => {
  test('has no more attempts under way than it wishes', async () => {
    const { id, path } = await scene.subscribe({ concurrency: 2 }, () => ({ status: 200, afterMs: 30 }));
    await sendTests(id, 20);
    await all(id, 'delivered', 20);
    expect(scene.receiver.maxConcurrent(path)).toBeLessThanOrEqual(2);
    expect(scene.receiver.to(path)).toHaveLength(20);
  });

  test('has no more attempts in a time than it wishes: ten at once, then one every 100 ms', async () => {
    const { id, path } = await scene.subscribe({ rateLimit: 600 });
    const begun = Date.now();
    await sendTests(id, 20);
    await all(id, 'delivered', 20);
    const times = scene.receiver.to(path).map(({ at }) => at);
    // The last ten had to wait for 100 ms each.
    expect(times[19]! - begun).toBeGreaterThanOrEqual(950);
  });

  // Not of a product that others share: they look for attempts in the log of its one process.
  test('has no more of both from two processes together', async () => {
    const second = await scene.product.start(['webhooks']);
    const narrow = await scene.subscribe({ concurrency: 1 }, () => ({ status: 200, afterMs: 5 }));
    const slow = await scene.subscribe({ rateLimit: 600 });
    const begun = Date.now();
    await Promise.all([sendTests(narrow.id, 40), sendTests(slow.id, 25)]);
    await Promise.all([all(narrow.id, 'delivered', 40), all(slow.id, 'delivered', 25)]);
    expect(scene.receiver.maxConcurrent(narrow.path)).toBe(1);
    expect(scene.receiver.to(narrow.path)).toHaveLength(40);
    const at = scene.receiver.to(slow.path).map((request) => request.at);
    expect(at).toHaveLength(25);
    // Ten at once, then one every 100 ms, from the beginning.
    at.forEach((time, index) => {
      expect(time - begun).toBeGreaterThanOrEqual((index - 10) * 100 - 50);
    });
    await second.stop();
  });

  test('that is down is not asked by everyone: after ten failures in a row one probes now and then', async () => {
    const { id, path } = await scene.subscribe({ ...listening, concurrency: 1, maxAttempts: 25 }, (nth) => ({
      status: nth <= 12 ? 500 : 200,
    }));
    await announce(30);
    await all(id, 'delivered', 30);
    const requests = scene.receiver.to(path);
    // Only the probes failed once it was open, and being held back is not an attempt.
    expect(requests).toHaveLength(42);
    // When they began: on a busy machine one may arrive much later.
    const { rows } = await scene.product.database.pool.query<{ at: number }>(
      `select (extract(epoch from started_at) * 1000)::float8 as at from delivery_attempt a join delivery d on d.id = a.delivery_id
        where d.subscription_id = $1 order by started_at`,
      [uuidOf(id)],
    );
    const [last, first, second] = rows.slice(9).map(({ at }) => at);
    // Each 1.5 s after the one before was let through, which may have begun much later: both together take 3 s.
    expect(first! - last!).toBeGreaterThanOrEqual(1_000);
    expect(second! - last!).toBeGreaterThanOrEqual(2_500);
  });

  /** @returns the health of the webhook after all; undefined where the time of an attempt was over before its answer */
  async function failEverySecond(): Promise<object | undefined> {
    const answers = Array.from({ length: 20 }, () => Promise.withResolvers<void>());
    const { id, path } = await scene.subscribe({ ...listening, concurrency: 20, maxAttempts: 1 }, (nth) => {
      return { status: nth % 2 ? 500 : 200, after: answers[nth - 1]?.promise ?? Promise.resolve() };
    });
    const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
    const scope = new Scope(scene.product.database, { organizationId, environment: 'test' }, 'at once');
    await scope.transaction(async (tx) => {
      for (const _ of answers) {
        const facts = {
          runId: newId(),
          automationId: newId(),
          name: 'x',
          status: 'cancelled',
          durationMs: 0,
          tokensUsed: 0,
        };
        await publishEvent(tx, runCancelled, facts.runId, facts);
      }
    });
    await scene.receiver.has(path, 20);
    const recorded = `select count(*)::int as n, coalesce(bool_or(error_class = 'timeout'), false) as "isLate" from delivery
      where subscription_id = $1 and attempts = 1`;
    const counts = async () => (await scene.product.database.pool.query(recorded, [uuidOf(id)])).rows[0];
    // Four at a time, so that none fails more than four times in a row, and all are answered within the time of an attempt.
    // The last one succeeds after all others.
    for (let answered = 0; answered < answers.length; ) {
      const next = answered < 16 ? answered + 4 : answered < 19 ? 19 : 20;
      for (const { resolve } of answers.slice(answered, next)) resolve();
      answered = next;
      await until('they are recorded', async () => (await counts()).n >= answered);
      const { health } = (await scene.api.get(`/v1/webhooks/${id}`)).body.data;
      if ((await counts()).isLate) {
        for (const { resolve } of answers) resolve();
        await scene.api.delete(`/v1/webhooks/${id}`);
        return undefined;
      }
      expect(health.nextProbeAt).toBeNull();
    }
    // A success that began before a failure is counted after it is recorded.
    const health = await until('its last success is counted', async () => {
      const { health: now } = (await scene.api.get(`/v1/webhooks/${id}`)).body.data;
      return now.state === 'healthy' && now;
    });
    await scene.api.delete(`/v1/webhooks/${id}`);
    return health;
  }

  test('that fails every second attempt is not down, though all attempts began before the first one failed', async () => {
    // On a busy machine an attempt may be over before its turn: then with another webhook.
    const health = await until('all are answered in time', failEverySecond);
    expect(health).toMatchObject({ nextProbeAt: null, deadLettered: 10 });
  });

  test('that is down says so of what waits, and gets the test events of its owner', async () => {
    let status = 500;
    const { id, path } = await scene.subscribe({ ...listening, concurrency: 1 }, () => ({ status }));
    await announce(12);
    await scene.receiver.has(path, 10);
    // No probe comes in between.
    const probe = `update webhook_subscription set next_probe_at = now() + interval '1 hour' where id = $1
      and next_probe_at is not null returning next_probe_at`;
    const { pool } = scene.product.database;
    const held = async () => (await scene.deliveries(id)).filter(({ heldBack }) => heldBack?.reason === 'failing');
    // A probe that had begun by then says itself when the next one comes: they are told again.
    await until('it is open, and all wait until then', async () => {
      const at = (await pool.query(probe, [uuidOf(id)])).rows[0]?.next_probe_at;
      const waits = at ? await held() : [];
      return waits.length === 12 && waits.every(({ heldBack }) => Date.parse(heldBack.until) >= Date.parse(at));
    });

    const before = scene.receiver.to(path).length;
    await sendTests(id, 1);
    const [failed] = (await scene.receiver.has(path, before + 1)).slice(before);
    expect(failed!.headers['x-service-event']).toBe('test.webhook');
    status = 200;
    await sendTests(id, 1);
    expect(await scene.reaches(id, 'delivered', 'test.webhook')).toMatchObject({ attempts: 1, heldBack: null });
    // It has answered: nothing is held back for that any more.
    expect(await held()).toEqual([]);
    await scene.api.delete(`/v1/webhooks/${id}`);
  });

  test('that is down costs others nothing', async () => {
    const blackHole = await scene.subscribe({}, () => 'hang');
    const healthy = await scene.subscribe();
    const begun = Date.now();
    await sendTests(blackHole.id, 100);
    await sendTests(healthy.id, 20);
    await all(healthy.id, 'delivered', 20);
    // Eight at a time, each of which takes nine seconds: on a busy machine many pass meanwhile.
    const rounds = 1 + Math.ceil((Date.now() - begun) / 9_000);
    expect(scene.receiver.to(blackHole.path).length).toBeLessThanOrEqual(Math.max(20, 8 * rounds));
    expect(await scene.deliveries(blackHole.id, '&status=delivered')).toEqual([]);
    await scene.api.patch(`/v1/webhooks/${blackHole.id}`, { isActive: false });
  });
});

describe('a subscription that does nothing but fail', () => {
  const age = (id: string, days: number) =>
    scene.product.database.pool.query(
      `update webhook_subscription set failing_since = clock_timestamp() - make_interval(days => $2),
              last_failed_at = clock_timestamp() where id = $1`,
      [uuidOf(id), days],
    );

  test('is turned off when a delivery is given up after five days of it, and its owner is notified once', async () => {
    const { id } = await scene.subscribe({ maxAttempts: 2 }, failing);
    // All that the scale leaves of five days is six hours.
    await age(id, 1);
    await sendTests(id, 1);
    await scene.reaches(id, 'dead_lettered');
    const webhook = (await scene.api.get(`/v1/webhooks/${id}`)).body.data;
    expect(webhook).toMatchObject({ isActive: false, disabledReason: 'failing' });
    // Only now, so that the product's own sweep notifies nobody before.
    await updateOrganization(scene.product.database, organizationIds.format(scene.tenant.organizationId), {
      email: 'ada@example.com',
    }).catch(() =>
      updateOrganization(scene.product.database, scene.tenant.organizationId, { email: 'ada@example.com' }),
    );
    const mails: Mail[] = [];
    const mailer = { send: async (mail: Mail) => void mails.push(mail), close: () => {} };
    for (let count = 0; count < 2; count++) await noticeTurnedOffWebhooks(scene.product.database, mailer, new Date());
    expect(mails.filter(({ text }) => text.includes(id))).toMatchObject([{ to: 'ada@example.com' }]);
    expect(mails.every(({ text }) => !text.includes('hook-'))).toBe(true);
  });

  test('stays on while it has failed for less, and a success begins it anew', async () => {
    const { id } = await scene.subscribe({ maxAttempts: 1 }, (nth) => ({ status: nth === 2 ? 200 : 500 }));
    await sendTests(id, 1);
    await all(id, 'dead_lettered', 1);
    await age(id, 30);
    await sendTests(id, 1);
    await all(id, 'delivered', 1);
    await sendTests(id, 1);
    await all(id, 'dead_lettered', 2);
    expect((await scene.api.get(`/v1/webhooks/${id}`)).body.data.isActive).toBe(true);
  });
});

test('a destination that the rules forbid when it is sent to is dead-lettered, and replayed by a worker with other rules', async () => {
  const { id, path } = await scene.subscribe();
  await scene.process.stop();
  const { EGRESS_ALLOW_CIDRS: _, ...strict } = webhookEnv;
  const product = scene.product;
  const [front, closed] = await Promise.all([
    product.start(['api', 'runs']),
    product.start(['webhooks'], { ...strict, EGRESS_ALLOW_CIDRS: '' }),
  ]);
  const post = (to: string) =>
    fetch(`${front.api}${to}`, { method: 'POST', headers: { authorization: `Bearer ${scene.tenant.testKey}` } });
  expect((await post(`/v1/webhooks/${id}/test`)).status).toBe(202);
  const status = () =>
    product.database.pool.query('select id, status, error_class, attempts from delivery where subscription_id = $1', [
      uuidOf(id),
    ]);
  await until('it is a dead letter', async () => (await status()).rows[0]?.status === 'dead_lettered');
  const [row] = (await status()).rows;
  expect(row).toMatchObject({ error_class: 'forbidden_destination', attempts: 1 });
  expect(scene.receiver.to(path)).toEqual([]);

  await Promise.all([closed.stop(), product.start(['webhooks'], webhookEnv)]);
  expect((await post(`/v1/webhooks/${id}/deliveries/${row.id}/replay`)).status).toBe(202);
  await scene.receiver.has(path, 1);
});
