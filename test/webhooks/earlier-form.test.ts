import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { queues } from '../../src/temporal/contracts/queues.ts';
import {
  type DeliverWebhookArgs,
  deliveryMessages,
  deliveryWorkflowId,
  webhookWorkflowId,
  webhookWorkflows,
} from '../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { deadLetter } from './dead-letter.ts';
import { type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

// Earlier versions gave each delivery that failed a workflow of its own, on the queue of runs. Upgraded installations have
// such workflows for a month.

let scene: SharedWebhookScene;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  [scene, connection] = await Promise.all([
    sharedWebhookScene(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await scene.close();
});

/** Ends what the present version has begun for a delivery, and begins what an earlier one would have. */
async function asBefore(
  webhookId: string,
  deliveryId: string,
  begin: DeliverWebhookArgs['begin'],
  ended: string,
): Promise<ReturnType<Client['workflow']['getHandle']>> {
  const workflow = client.workflow.getHandle(ended);
  await until('it has a workflow', () => workflow.describe().catch(() => false as const));
  await workflow.terminate();
  const { product, tenant } = scene;
  await product.database.pool.query('delete from retry_clock where subscription_id = $1', [webhookId]);
  const args: DeliverWebhookArgs = {
    organizationId: organizationIds.parse(tenant.organizationId)!,
    environment: 'test',
    correlationId: 'before',
    deliveryId,
    subscriptionId: webhookId,
    eventType: 'test.webhook',
    begin,
    parkedMs: 600_000,
    attemptsQueue: `${product.taskQueuePrefix}${queues.webhooks.name}`,
  };
  return client.workflow.start(webhookWorkflows.deliverWebhook, {
    workflowId: deliveryWorkflowId(deliveryId),
    taskQueue: `${product.taskQueuePrefix}${queues.runs.name}`,
    args: [args],
  });
}

test('a delivery that waits in a workflow of its own is retried in its time, and ends it', async () => {
  const { id, path } = await scene.subscribe({ maxAttempts: 4 }, (nth) =>
    nth === 1 ? { status: 503, headers: { 'retry-after': '4' } } : { status: nth < 4 ? 500 : 200 },
  );
  await scene.api.post(`/v1/webhooks/${id}/test`);
  const { id: deliveryId } = await scene.reaches(id, 'retrying');
  const [webhook, delivery] = [webhookIds.parse(id)!, deliveryIds.parse(deliveryId)!];
  const handle = await asBefore(webhook, delivery, { kind: 'wait', ms: 3_000 }, webhookWorkflowId(webhook));
  expect(await handle.result()).toBe('delivered');
  expect(await scene.reaches(id, 'delivered')).toMatchObject({ attempts: 4 });
  const [first, second] = scene.receiver.to(path);
  expect(scene.receiver.to(path)).toHaveLength(4);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(3_990);
});

test('a dead letter that is parked so is replayed and discarded there', async () => {
  const letters = [await deadLetter(scene), await deadLetter(scene), await deadLetter(scene)];
  const parked = await Promise.all(
    letters.map(async ({ id, uuid, workflowId }) => {
      const begin = { kind: 'dead_lettered', why: 'HTTP 500 after 1 attempt' } as const;
      return asBefore(webhookIds.parse(id)!, uuid, begin, workflowId);
    }),
  );
  const [signalled, updated, elsewhere] = parked as [(typeof parked)[0], (typeof parked)[0], (typeof parked)[0]];
  expect(await updated.executeUpdate(deliveryMessages.replayNow)).toMatch(/Dead-lettered.*HTTP 500 after 2 attempts/);
  for (const letter of letters) letter.mend();
  expect(await updated.executeUpdate(deliveryMessages.replayNow)).toMatch(/Delivered/);
  await signalled.signal(deliveryMessages.replay);
  await scene.api.post(`/v1/webhooks/${letters[2]!.id}/deliveries/${letters[2]!.deliveryId}/replay`);
  expect(await Promise.all(parked.map((handle) => handle.result()))).toEqual(parked.map(() => 'delivered'));
  expect(elsewhere.workflowId).toBe(letters[2]!.workflowId);
  expect(letters.map(({ path }) => scene.receiver.to(path).length)).toEqual([2, 3, 2]);
});
