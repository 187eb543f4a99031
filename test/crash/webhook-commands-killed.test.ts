import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { deliveryMessages, deliveryWorkflowId } from '../../src/temporal/contracts/webhooks.ts';
import { deliveryIds } from '../../src/webhooks/core/ids.ts';
import type { ApiClient } from '../api-client.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, type DeliveryScene, openDeliveryScene } from './delivery-scene.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: DeliveryScene;
let front: string;
let connection: Connection;
beforeAll(async () => {
  [scene, connection] = await Promise.all([
    openDeliveryScene(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
  ({ api: front } = await scene.product.start(['api', 'runs']));
});
afterAll(async () => {
  await connection.close();
  await scene.receiver.close();
  await scene.product.close();
});

/** Signals the workflow of a dead letter as operators do, until the process that serves it dies of that. */
async function signalled(signal: string, at: string) {
  const doomed = await scene.product.start(['webhooks'], { FAIL_POINT: at });
  const fields = { events: ['workflow.run.failed'], maxAttempts: 1 };
  const { id, path } = await scene.subscribe(front, answers(500), fields);
  const delivery = await scene.sendTest(front, id);
  const handle = new Client({ connection }).workflow.getHandle(deliveryWorkflowId(delivery));
  const details = () => handle.query('__temporal_workflow_metadata').then(JSON.stringify, () => '');
  await until('it is parked', async () => (await details()).includes('Dead-lettered'));
  await handle.signal(signal);
  await doomed.ended;
  return { delivery, path };
}

test('a worker killed at what an operator asked for: it is done, once', async () => {
  const { product, receiver } = scene;
  const replayed = await signalled(deliveryMessages.replay, 'delivery.replayed');
  const discarded = await signalled(deliveryMessages.discard, 'delivery.discarded');
  // It serves the others too.
  await product.start(['webhooks']);
  await scene.reaches(replayed.delivery, 'delivered');
  await scene.reaches(discarded.delivery, 'failed');
  expect(await findDeliveryViolations(scene)).toEqual([]);
  expect([replayed, discarded].map(({ path }) => receiver.to(path).length)).toEqual([2, 1]);
  const { rows } = await product.database.pool.query(
    "select action from audit_log where action like 'delivery.%' order by action",
  );
  expect(rows.map(({ action }) => action)).toEqual(['delivery.discard', 'delivery.replay']);
});

const busy = { status: 503, headers: { 'retry-after': '600' } };

/** A process of the API dies with this request, right after its commit. */
async function dieDuring(at: string, prepare: (api: string) => Promise<(client: ApiClient) => Promise<unknown>>) {
  const { api, ended } = await scene.product.start(['api'], { FAIL_POINT: at });
  const command = await prepare(api);
  await expect(command(scene.caller.at(api))).rejects.toThrow();
  await ended;
}

// At the same time, because most of it is waiting: the outbox gives a dead writer 5 s.
const commands = {
  async replay() {
    let delivery = '';
    await dieDuring('delivery.replayed', async (api) => {
      const { id } = await scene.subscribe(api, answers(500), { events: ['workflow.run.failed'], maxAttempts: 1 });
      delivery = await scene.sendTest(api, id);
      await scene.reaches(delivery, 'dead_lettered');
      return () => scene.replay(api, id, delivery);
    });
    expect(await scene.reaches(delivery, 'delivered')).toMatchObject({ attempts: 2 });
  },

  async recover() {
    const since = new Date().toISOString();
    const deliveries: string[] = [];
    await dieDuring('delivery.recovered', async (api) => {
      const fields = { events: ['workflow.run.failed'], maxAttempts: 1 };
      const { id } = await scene.subscribe(api, answers(500, 500, 500), fields);
      for (let count = 0; count < 3; count++) deliveries.push(await scene.sendTest(api, id));
      for (const delivery of deliveries) await scene.reaches(delivery, 'dead_lettered');
      return (client) => client.post(`/v1/webhooks/${id}/recover`, { since });
    });
    for (const delivery of deliveries) {
      expect(await scene.reaches(delivery, 'delivered')).toMatchObject({ attempts: 2 });
    }
  },

  async disableSubscription() {
    let [webhook, delivery] = ['', ''];
    await dieDuring('subscription.changed', async (api) => {
      const { id } = await scene.subscribe(api, answers(busy), { events: ['workflow.run.failed'] });
      webhook = id;
      delivery = await scene.sendTest(api, id);
      await scene.reaches(delivery, 'retrying');
      return (client) => client.patch(`/v1/webhooks/${id}`, { isActive: false });
    });
    const [row] = (await scene.rows()).filter(({ id }) => id === delivery);
    expect(row).toMatchObject({ status: 'dead_lettered', errorClass: 'subscription_off', attempts: 1 });
    await scene.caller.at(front).patch(`/v1/webhooks/${webhook}`, { isActive: true });
    expect(await scene.replay(front, webhook, delivery)).toBeLessThan(300);
    expect(await scene.reaches(delivery, 'delivered')).toMatchObject({ attempts: 2 });
  },

  async delete() {
    let delivery = '';
    await dieDuring('subscription.deleted', async (api) => {
      const { id } = await scene.subscribe(api, answers(busy), { events: ['workflow.run.failed'] });
      delivery = await scene.sendTest(api, id);
      await scene.reaches(delivery, 'retrying');
      return (client) => client.delete(`/v1/webhooks/${id}`);
    });
    expect(await scene.reaches(delivery, 'failed')).toMatchObject({ errorClass: 'subscription_deleted', attempts: 1 });
  },

  /** Another delivery still needs the body, which a sweep removes after that. */
  async expunge() {
    let [webhook, delivery] = ['', ''];
    await dieDuring('delivery.expunged', async (api) => {
      const { id } = await scene.subscribe(api, answers(200, busy), { events: ['workflow.run.failed'] });
      webhook = id;
      delivery = await scene.sendTest(api, id);
      await scene.reaches(delivery, 'delivered');
      const client = scene.caller.at(api);
      const of = `/v1/webhooks/${id}/deliveries/${deliveryIds.format(delivery)}`;
      const { body } = await client.post(`${of}/resend`);
      await scene.reaches(deliveryIds.parse(body.data.deliveryId)!, 'retrying');
      return () => client.delete(`${of}/content`);
    });
    const stored = async () => {
      const { rows } = await scene.product.database.pool.query<{ answers: number; body: unknown }>(
        `select (select count(response_body)::int from delivery_attempt where delivery_id = d.id) as answers,
                (select facts from event where id = d.event_id) as body
           from delivery d where id = $1`,
        [delivery],
      );
      return rows[0]!;
    };
    expect(await stored()).toEqual({ answers: 0, body: expect.any(Object) });
    await scene.caller.at(front).patch(`/v1/webhooks/${webhook}`, { isActive: false });
    await scene.product.start(['housekeeping']);
    await until('the body is gone', async () => (await stored()).body === null);
  },

  /** Nothing but the commit says that the run was cancelled: its event is in it. */
  async cancel() {
    let path = '';
    await dieDuring('run.cancelled', async (api) => {
      ({ path } = await scene.subscribe(api));
      const workflowId = await scene.caller.createWorkflow(api, ['sandbox:slow=600 One']);
      const { body } = await scene.caller.execute(api, workflowId);
      await scene.receiver.has(path, 1);
      return (client) => client.post(`/api/v1/runs/${body.data.runId}/cancel`);
    });
    const bodies = (await scene.receiver.has(path, 2)).map(({ body }) => JSON.parse(body));
    expect(bodies.map(({ type }) => type)).toEqual(['workflow.run.started', 'workflow.run.cancelled']);
  },
};

test('the API killed right after the commit of a command: what it began goes on', async () => {
  await Promise.all(Object.values(commands).map((command) => command()));
  expect(await findDeliveryViolations(scene)).toEqual([]);
});
