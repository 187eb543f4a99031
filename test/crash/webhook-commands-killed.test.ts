import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { deliveryMessages, deliveryWorkflowId } from '../../src/temporal/contracts/webhooks.ts';
import type { ApiClient } from '../api-client.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, type DeliveryScene, openDeliveryScene, withDeliveries } from './delivery-scene.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

let scene: DeliveryScene;
beforeAll(async () => {
  scene = await openDeliveryScene();
});
afterAll(async () => {
  await scene.receiver.close();
  await scene.product.close();
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

  async turnOff() {
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
    const { api } = await scene.product.start(['api']);
    await scene.caller.at(api).patch(`/v1/webhooks/${webhook}`, { isActive: true });
    expect(await scene.replay(api, webhook, delivery)).toBeLessThan(300);
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
  await scene.product.start(['runs', 'webhooks']);
  await Promise.all(Object.values(commands).map((command) => command()));
  expect(await findDeliveryViolations(scene)).toEqual([]);
});

test.concurrent.each([
  { signal: deliveryMessages.replay, at: 'delivery.replayed', status: 'delivered', requests: 2 } as const,
  { signal: deliveryMessages.discard, at: 'delivery.discarded', status: 'failed', requests: 1 } as const,
])('killed at $at of an operator: it is done, once', ({ signal, at, status, requests }) =>
  withDeliveries(async (own) => {
    const { product } = own;
    const connection = await Connection.connect({ address: runningServers().temporalAddress });
    const [{ api }, doomed] = await Promise.all([
      product.start(['api', 'runs']),
      product.start(['webhooks'], { FAIL_POINT: at }),
    ]);
    const { id } = await own.subscribe(api, answers(500), { maxAttempts: 1 });
    const delivery = await own.sendTest(api, id);
    const handle = new Client({ connection }).workflow.getHandle(deliveryWorkflowId(delivery));
    const details = () => handle.query('__temporal_workflow_metadata').then(JSON.stringify, () => '');
    await until('it is parked', async () => (await details()).includes('Dead-lettered'));
    await handle.signal(signal);
    await doomed.ended;
    await product.start(['webhooks']);
    await own.reaches(delivery, status);
    expect(await findDeliveryViolations(own)).toEqual([]);
    expect(own.requests()).toHaveLength(requests);
    const { rows } = await product.database.pool.query("select action from audit_log where action like 'delivery.%'");
    expect(rows).toEqual([{ action: `delivery.${signal}` }]);
    await connection.close();
  }),
);
