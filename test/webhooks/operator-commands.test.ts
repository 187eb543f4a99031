import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { latestAudit } from '../../src/platform/security/audit.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { runCli } from '../cli/run-cli.ts';
import { until } from '../until.ts';
import { deadLetter } from './dead-letter.ts';
import { addDelivery } from './rows.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
});
afterAll(() => scene.close());

const cli = (...args: string[]) => runCli(['delivery', ...args, '--json'], { DATABASE_URL: scene.product.databaseUrl });

/** Runs a command that must succeed, and reads its one document. */
async function json(...args: string[]) {
  const { exitCode, stdout, stderr } = await cli(...args);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout);
}

async function failure(...args: string[]): Promise<{ code: string; message: string }> {
  const { exitCode, stdout, stderr } = await cli(...args);
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  return JSON.parse(stderr).error;
}

const idsOf = (answer: { deliveries: { id: string }[] }) => answer.deliveries.map(({ id }) => id);
const setActive = (id: string, isActive: boolean) => scene.api.patch(`/v1/webhooks/${id}`, { isActive });

describe('delivery list', () => {
  test('shows deliveries of all tenants, filtered', async () => {
    const [first, second] = [await deadLetter(scene), await deadLetter(scene)];
    const other = await scene.subscribe();
    await scene.api.post(`/v1/webhooks/${other.id}/test`);
    const arrived = await scene.reaches(other.id, 'delivered');
    const organizationId = organizationIds.format(organizationIds.parse(scene.tenant.organizationId)!);
    const webhookId = webhookIds.format(webhookIds.parse(first.id)!);
    const [all, dead, ofOne, ofNone, later, latest] = await Promise.all([
      json('list'),
      json('list', '--status', 'dead_lettered', '--event-type', 'test.webhook', '--org', organizationId),
      json('list', '--webhook', first.id),
      json('list', '--webhook', randomUUID()),
      json('list', '--since', '2100-01-01'),
      json('list', '--since', '2020-01-01T00:00:00Z', '--limit', '1'),
    ]);
    expect(idsOf(all)).toEqual(expect.arrayContaining([first.deliveryId, second.deliveryId, arrived.id]));
    expect(idsOf(dead)).toEqual([second.deliveryId, first.deliveryId]);
    expect(ofOne.deliveries).toEqual([
      {
        id: first.deliveryId,
        status: 'dead_lettered',
        eventType: 'test.webhook',
        eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
        organizationId,
        environment: 'test',
        webhookId,
        webhookIsActive: true,
        attempts: 1,
        statusCode: 500,
        errorClass: null,
        createdAt: expect.any(String),
        nextAttemptAt: null,
        endedAt: expect.any(String),
        temporalWorkflowId: `delivery-${first.uuid}`,
      },
    ]);
    expect(idsOf(ofNone)).toEqual([]);
    expect(idsOf(later)).toEqual([]);
    expect(idsOf(latest)).toEqual([arrived.id]);
  });

  test('refuses what makes no sense', async () => {
    const answers = await Promise.all([
      failure('list', '--status', 'lost'),
      failure('list', '--since', 'yesterday'),
      failure('list', '--since', '2026-02-30'),
      failure('list', '--since', '2026-11-21T09:30:00'),
      failure('list', '--since', '1763717400'),
      failure('redrive', '--since', '11/21/2026'),
      failure('list', '--org', 'nonsense'),
      failure('list', '--webhook', 'wf_1'),
      failure('list', '--event-type', 'workflow.run.exploded'),
      failure('list', '--limit', '0'),
      failure('redrive', '--per-second', 'many'),
    ]);
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 'validation_error'));
  });
});

test('deliveries are selected by their webhook and the type of their event', async () => {
  const { id, deliveryId } = await deadLetter(scene);
  expect(idsOf(await json('list', '--webhook', id, '--event-type', 'test.webhook'))).toEqual([deliveryId]);
  const { message } = await failure('list', '--webhook', 'nonsense');
  expect(message).toMatch(/^webhookId: Expected an id as whk_/);
});

describe('delivery replay', () => {
  test('delivers a dead letter, and is in the audit log', async () => {
    const { deliveryId, mend, id, uuid, path } = await deadLetter(scene);
    mend();
    expect(await json('replay', deliveryId)).toEqual({ deliveryId, status: 'pending' });
    expect(await scene.reaches(id, 'delivered')).toMatchObject({ id: deliveryId, attempts: 2 });
    expect(scene.receiver.to(path)).toHaveLength(2);
    const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
    const [entry] = await latestAudit(scene.product.database, organizationId, 1);
    expect(entry).toMatchObject({
      action: 'delivery.replay',
      actor: 'operator',
      subjectId: uuid,
      environment: 'test',
      facts: { webhookId: webhookIds.format(webhookIds.parse(id)!) },
    });
  });

  test('says why it refuses', async () => {
    const arrived = await deadLetter(scene);
    arrived.mend();
    await json('replay', arrived.uuid);
    await scene.reaches(arrived.id, 'delivered');
    const off = await deadLetter(scene);
    await setActive(off.id, false);
    const answers = await Promise.all([
      failure('replay', arrived.deliveryId),
      failure('replay', off.deliveryId),
      failure('replay', deliveryIds.format(randomUUID())),
      failure('replay', 'nonsense'),
    ]);
    expect(answers.map(({ code }) => code)).toEqual(['conflict', 'conflict', 'not_found', 'not_found']);
    expect(answers[0]!.message).toMatch(/delivered/);
    expect(answers[1]!.message).toMatch(/turned off/);
    expect((await scene.deliveries(off.id))[0].status).toBe('dead_lettered');
  });

  test('reaches what was never tried, because its webhook was turned off', async () => {
    // Begins anew where a machine was so busy that the first attempt was over before it was answered.
    const { id, waiting } = await until('one waits behind another that arrives', async () => {
      // Its one place is taken, so that what comes second waits for its first attempt.
      const { promise: after, resolve: answer } = Promise.withResolvers<void>();
      const { id: of, path } = await scene.subscribe({ concurrency: 1 }, (nth) =>
        nth === 1 ? { status: 200, after } : { status: 200 },
      );
      await scene.api.post(`/v1/webhooks/${of}/test`);
      await scene.receiver.has(path, 1);
      await scene.api.post(`/v1/webhooks/${of}/test`);
      await setActive(of, false);
      answer();
      const isUnderWay = 'select from delivery where subscription_id = $1 and leased_until > clock_timestamp()';
      await until('no attempt is under way', async () => {
        const { rowCount } = await scene.product.database.pool.query(isUnderWay, [webhookIds.parse(of)]);
        return rowCount === 0;
      });
      const [second, first] = await scene.deliveries(of);
      if (first.status !== 'delivered' || first.attempts > 1) return false;
      expect(second).toMatchObject({ status: 'dead_lettered', attempts: 0 });
      return { id: of, waiting: second };
    });
    await setActive(id, true);
    await json('replay', waiting.id);
    await until('both arrived', async () => (await scene.deliveries(id, '&status=delivered')).length === 2);
  });
});

describe('delivery redrive', () => {
  test('replays the dead letters that are meant, of webhooks that are turned on', async () => {
    const before = [await deadLetter(scene), await deadLetter(scene)];
    const [first, second] = before;
    const off = await deadLetter(scene);
    await setActive(off.id, false);
    for (const { mend } of [...before, off]) mend();
    expect(await json('redrive', '--since', '2100-01-01')).toEqual({ replayed: 0 });
    expect(await json('redrive', '--webhook', first!.id, '--event-type', 'test.webhook')).toEqual({ replayed: 1 });
    await scene.reaches(first!.id, 'delivered');
    expect((await scene.deliveries(second!.id))[0].status).toBe('dead_lettered');
    const { replayed } = await json('redrive', '--org', scene.tenant.organizationId, '--per-second', '100');
    expect(replayed).toBeGreaterThanOrEqual(1);
    await scene.reaches(second!.id, 'delivered');
    expect((await scene.deliveries(off.id))[0].status).toBe('dead_lettered');
  });

  test('takes up each of many once, those that were given up at the same moment too', async () => {
    const { pool } = scene.product.database;
    const { id } = await scene.subscribe();
    const many = 45;
    const uuids = [];
    for (let count = 0; count < many; count++) {
      uuids.push(deliveryIds.parse(await addDelivery(scene.product.database, id, { status: 'dead_lettered' })));
    }
    await pool.query('update delivery set finished_at = now() where id = any($1)', [uuids]);
    expect(await json('redrive', '--webhook', id, '--per-second', '1000')).toEqual({ replayed: many });
    const { rows } = await pool.query(
      `select count(*)::int as entries, count(distinct subject_id)::int as deliveries from audit_log
        where action = 'delivery.replay' and subject_id = any($1)`,
      [uuids],
    );
    expect(rows).toEqual([{ entries: many, deliveries: many }]);
    expect(await json('redrive', '--webhook', id)).toEqual({ replayed: 0 });
  });
});
