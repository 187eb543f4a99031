import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { webhookWorkflows } from '../../src/temporal/contracts/webhooks.ts';
import { untilTaken } from '../api-client.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import type { Script } from '../webhooks/receiver.ts';
import { webhookEnv } from '../webhooks/scene.ts';
import { findDeliveryViolations } from './delivery-oracle.ts';
import { answers, type DeliveryScene, openDeliveryScene } from './delivery-scene.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(240_000);

/** Sends so many tests to a webhook, some at a time. */
async function sendTests({ caller }: DeliveryScene, api: string, webhookId: string, count: number): Promise<void> {
  const client = caller.at(api);
  for (let sent = 0; sent < count; sent += 10) {
    const asked = Array.from({ length: 10 }, () =>
      untilTaken('it is taken', () => client.post(`/v1/webhooks/${webhookId}/test`)),
    );
    for (const { status } of await Promise.all(asked)) expect(status).toBeLessThan(300);
  }
}

let scene: DeliveryScene;
let api: string;
beforeAll(async () => {
  scene = await openDeliveryScene();
  ({ api } = await scene.product.start(['api', 'runs']));
});
afterAll(async () => {
  await scene.receiver.close();
  await scene.product.close();
});

// Each goes on with the processes that the one before left.

test('killed during a fan-out: who has the event already is not asked again', async () => {
  const { product, caller, receiver } = scene;
  const doomed = await product.start(['webhooks']);
  const fields = { events: ['workflow.run.completed'] };
  const quick = [await scene.subscribe(api, answers(), fields), await scene.subscribe(api, answers(), fields)];
  const { path } = await scene.subscribe(api, answers('hang'), fields);
  await caller.execute(api, await caller.createWorkflow(api, ['One']));
  await until('two have it, and the third is asked', async () => {
    const delivered = (await scene.rows()).filter(({ status }) => status === 'delivered');
    // Where a busy machine took longer than an attempt may, it was asked again and has it.
    return delivered.length >= 2 && receiver.to(path).length >= 1;
  });
  await doomed.kill();
  await product.start(['webhooks']);
  expect(await findDeliveryViolations({ ...scene, cutOff: 1 })).toEqual([]);
  expect(quick.map((of) => receiver.to(of.path).length)).toEqual([1, 1]);
  expect(receiver.to(path)).toHaveLength(2);
  expect((await scene.rows()).map(({ status }) => status)).toEqual(Array(3).fill('delivered'));
});

test('two processes send 300 events, one is killed in the middle: all arrive', async () => {
  const { product, requests } = scene;
  const doomed = await product.start(['webhooks']);
  const before = requests().length;
  const slow: Script = () => ({ status: 200, afterMs: 100 });
  const fields = { events: ['workflow.run.failed'], concurrency: 8 };
  const ids = [];
  for (let count = 0; count < 3; count++) ids.push((await scene.subscribe(api, slow, fields)).id);
  const sent = Promise.all(ids.map((id) => sendTests(scene, api, id, 100)));
  await until('a third has arrived', async () => requests().length >= before + 100);
  await doomed.kill();
  await sent;
  // No webhook had more attempts under way than its concurrency allows.
  const cutOff = 1 + ids.length * fields.concurrency;
  expect(await findDeliveryViolations({ ...scene, cutOff })).toEqual([]);
  const rows = (await scene.rows()).slice(-300);
  expect(rows.filter(({ status, attempts }) => status !== 'delivered' || attempts !== 1)).toEqual([]);
});

test('recovered, redriven and drained from two processes at the same time: one effect', async () => {
  const { product, caller } = scene;
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const since = new Date().toISOString();
  const [{ api: second }] = await Promise.all([product.start(['api', 'runs']), product.start(['webhooks'])]);
  // Fewer failures of each than open a breaker.
  const ids: string[] = [];
  for (let count = 0; count < 5; count++) {
    const fields = { events: ['workflow.run.failed'], maxAttempts: 1 };
    const { id } = await scene.subscribe(api, answers(500, 500, 500, 500), fields);
    for (let nth = 0; nth < 4; nth++) await scene.sendTest(api, id);
    ids.push(id);
  }
  const letters = async () => (await scene.rows()).slice(-20);
  const all = async (status: string) => (await letters()).every((row) => row.status === status);
  await until('all are dead letters', () => all('dead_lettered'));

  const drain = { authorization: `Bearer ${webhookEnv.CRON_SECRET}` };
  const drained = [api, second].flatMap((one) =>
    Array.from({ length: 5 }, () =>
      untilTaken('it is taken', () => caller.at(one).get('/api/cron/webhook-gateway', drain)),
    ),
  );
  const schedule = new Client({ connection }).schedule;
  const redriven = schedule.getHandle(`${product.taskQueuePrefix}${webhookWorkflows.redriveDeadLetters}`).trigger();
  const recovered = ids.map((id) =>
    untilTaken('it is taken', () => caller.at(api).post(`/v1/webhooks/${id}/recover`, { since })),
  );
  const answered = await Promise.all([...drained, ...recovered]);
  for (const { status } of answered) expect(status).toBeLessThan(300);
  await redriven;
  await until('all are delivered', () => all('delivered'));
  expect(await findDeliveryViolations({ ...scene, cutOff: 25 })).toEqual([]);
  expect((await letters()).map(({ attempts }) => attempts)).toEqual(Array(20).fill(2));
  await connection.close();
});
