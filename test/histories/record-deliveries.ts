import type { Client } from '@temporalio/client';
import { newId } from '../../src/platform/ids.ts';
import { queues, taskQueueName } from '../../src/temporal/contracts/queues.ts';
import {
  type DeliverWebhookArgs,
  deliveryMessages,
  deliveryWorkflowId,
  type RedriveArgs,
  webhookWorkflows,
} from '../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds } from '../../src/webhooks/core/ids.ts';
import { until } from '../until.ts';
import type { Script } from '../webhooks/receiver.ts';
import { openWebhookScene } from '../webhooks/scene.ts';

/** Waits until the workflow is closed and writes its history. */
export type Keep = (name: string, workflowId: string) => Promise<void>;

const failing =
  (times: number): Script =>
  (nth) => ({ status: nth <= times ? 500 : 200 });
const alwaysFailing = failing(Number.POSITIVE_INFINITY);
const busyFor = (seconds: number): Script => {
  const reply = { status: 503, headers: { 'retry-after': String(seconds) } };
  return (nth) => (nth === 1 ? reply : { status: 200 });
};

/** Histories of deliveries that failed once, whatever became of them, and of many that were replayed together. */
export async function recordDeliveries(workflow: Client['workflow'], keep: Keep): Promise<void> {
  const scene = await openWebhookScene();
  const { api } = scene;

  /** Sends a test to a subscription of its own and waits until its delivery has this status. */
  const send = async (status: string, script: Script, maxAttempts = 5) => {
    const { id, path } = await scene.subscribe({ maxAttempts }, script);
    await api.post(`/v1/webhooks/${id}/test`);
    const delivery = await scene.reaches(id, status);
    const workflowId = deliveryWorkflowId(deliveryIds.parse(delivery.id)!);
    const handle = workflow.getHandle(workflowId);
    // It may not have been started yet.
    await until('it has a workflow', () => handle.describe().catch(() => false as const));
    return { id, path, workflowId, handle, replay: `/v1/webhooks/${id}/deliveries/${delivery.id}/replay` };
  };
  /** A dead letter; a signal of an operator before its workflow knows would be for nothing. */
  const park = async (script: Script, maxAttempts?: number) => {
    const parked = await send('dead_lettered', script, maxAttempts);
    const details = async () => (await parked.handle.query<string>('__temporal_workflow_metadata')) as unknown;
    await until('it is parked', async () => JSON.stringify(await details()).includes('Dead-lettered'));
    return parked;
  };

  await keep('deliverWebhook/retried-then-delivered', (await send('delivered', failing(3))).workflowId);

  const replayed = await park(failing(2), 2);
  await api.post(replayed.replay);
  await keep('deliverWebhook/replayed-then-delivered', replayed.workflowId);

  const twice = await park(failing(3), 1);
  await twice.handle.signal(deliveryMessages.replay);
  await until('it is tried again', async () => scene.receiver.to(twice.path).length === 2);
  await until('it is parked again', async () => (await scene.deliveries(twice.id))[0].status === 'dead_lettered');
  const replayNow = () => twice.handle.executeUpdate(deliveryMessages.replayNow);
  // Refused for as long as it does not know that it is parked.
  await until('an operator replays it', () => replayNow().then(Boolean, () => false));
  await twice.handle.executeUpdate(deliveryMessages.replayNow);
  await keep('deliverWebhook/replayed-by-an-operator', twice.workflowId);

  const discarded = await park(alwaysFailing, 1);
  await discarded.handle.signal(deliveryMessages.discard);
  await keep('deliverWebhook/discarded', discarded.workflowId);

  // Told to look while it waits for its next attempt.
  const deleted = await send('retrying', busyFor(600));
  await api.delete(`/v1/webhooks/${deleted.id}`);
  await keep('deliverWebhook/ended-with-its-subscription', deleted.workflowId);

  const since = new Date().toISOString();
  const off = await send('retrying', busyFor(2));
  await api.patch(`/v1/webhooks/${off.id}`, { isActive: false });
  await scene.reaches(off.id, 'dead_lettered');
  await api.patch(`/v1/webhooks/${off.id}`, { isActive: true });
  await api.post(`/v1/webhooks/${off.id}/recover`, { since });
  await keep('deliverWebhook/resumed', off.workflowId);

  // More dead letters than a page has, each of another subscription, whose breakers are closed.
  const receivers = await Promise.all(
    Array.from({ length: 21 }, () => scene.subscribe({ maxAttempts: 1, name: 'Redriven' }, failing(1))),
  );
  await scene.run();
  await Promise.all(receivers.map(({ id }) => scene.reaches(id, 'dead_lettered')));
  const taskQueue = taskQueueName(scene.product.taskQueuePrefix, queues.runs);
  const redrive = async (filter: RedriveArgs) => {
    const workflowId = `redrive-${newId()}`;
    await workflow.start(webhookWorkflows.redriveDeadLetters, { workflowId, taskQueue, args: [filter] });
    return workflowId;
  };
  const organizationId = organizationIds.parse(scene.tenant.organizationId)!;
  await keep('redriveDeadLetters/two-pages', await redrive({ organizationId, eventType: 'workflow.run.completed' }));
  await keep('redriveDeadLetters/nothing-to-do', await redrive({ organizationId: newId() }));

  // A dead letter that nobody replays for as long as it may be replayed, here a second.
  const leftAlone = newId();
  const args: DeliverWebhookArgs = {
    ...{ organizationId, environment: 'test', correlationId: 'recorded', deliveryId: leftAlone },
    ...{ eventType: 'test.webhook', subscriptionId: newId(), parkedMs: 1_000 },
    begin: { kind: 'dead_lettered', why: 'HTTP 500 after 1 attempt' },
  };
  const workflowId = deliveryWorkflowId(leftAlone);
  await workflow.start(webhookWorkflows.deliverWebhook, { workflowId, taskQueue, args: [args] });
  await keep('deliverWebhook/left-alone', workflowId);
  await scene.close();
}
