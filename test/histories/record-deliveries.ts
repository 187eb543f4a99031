import type { Client } from '@temporalio/client';
import { newId } from '../../src/platform/ids.ts';
import { queues, taskQueueName } from '../../src/temporal/contracts/queues.ts';
import {
  deliveryMessages,
  deliveryWorkflowId,
  type ParkDeadLetterArgs,
  type RedriveArgs,
  webhookMessages,
  webhookWorkflowId,
  webhookWorkflows,
} from '../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import { until } from '../until.ts';
import type { Script } from '../webhooks/receiver.ts';
import { openWebhookScene } from '../webhooks/scene.ts';

/** Waits until the workflow is closed and writes its history. */
export type Keep = (name: string, workflowId: string) => Promise<void>;

const failing =
  (times: number): Script =>
  (nth) => ({ status: nth <= times ? 500 : 200 });
const alwaysFailing = failing(Number.POSITIVE_INFINITY);
const busyOnce: Script = (nth) => (nth === 1 ? { status: 503, headers: { 'retry-after': '600' } } : { status: 200 });

/** Histories of webhooks whose deliveries failed, and of dead letters. */
export async function recordDeliveries(workflow: Client['workflow'], keep: Keep): Promise<void> {
  const scene = await openWebhookScene();
  const { api } = scene;
  const detailsOf = async (workflowId: string): Promise<string> =>
    JSON.stringify(
      await workflow
        .getHandle(workflowId)
        .query<object>('__temporal_workflow_metadata')
        .catch(() => ''),
    );
  const says = (workflowId: string, text: string) =>
    until(`it says ${text}`, async () => (await detailsOf(workflowId)).includes(text));

  /** Sends a test to a subscription of its own and waits until its delivery has this status. */
  const send = async (status: string, script: Script, maxAttempts = 5) => {
    const { id, path } = await scene.subscribe({ maxAttempts }, script);
    await api.post(`/v1/webhooks/${id}/test`);
    const delivery = await scene.reaches(id, status);
    const clockId = webhookWorkflowId(webhookIds.parse(id)!);
    const workflowId = deliveryWorkflowId(deliveryIds.parse(delivery.id)!);
    const replay = `/v1/webhooks/${id}/deliveries/${delivery.id}/replay`;
    return { id, path, clockId, workflowId, handle: workflow.getHandle(workflowId), replay };
  };
  const park = async (script: Script, maxAttempts = 1) => {
    const parked = await send('dead_lettered', script, maxAttempts);
    await says(parked.workflowId, 'Dead-lettered');
    return parked;
  };

  await keep('retryWebhook/retried-then-delivered', (await send('delivered', failing(3))).clockId);

  const steered = await send('retrying', busyOnce);
  const clock = workflow.getHandle(steered.clockId);
  await says(steered.clockId, '1 delivery waits');
  await clock.signal(webhookMessages.pause);
  await says(steered.clockId, 'Paused');
  await clock.signal(webhookMessages.resume);
  await clock.signal(webhookMessages.retryNow);
  await keep('retryWebhook/paused-resumed-and-hurried', steered.clockId);

  const deleted = await send('retrying', busyOnce);
  await says(deleted.clockId, '1 delivery waits');
  await api.delete(`/v1/webhooks/${deleted.id}`);
  await keep('retryWebhook/ended-with-its-subscription', deleted.clockId);

  const replayed = await park(failing(1));
  await api.post(replayed.replay);
  await keep('parkDeadLetter/replayed-elsewhere', replayed.workflowId);

  const twice = await park(failing(2));
  await twice.handle.executeUpdate(deliveryMessages.replayNow);
  await twice.handle.signal(deliveryMessages.replay);
  await keep('parkDeadLetter/replayed-twice', twice.workflowId);

  const further = await park(failing(3), 2);
  await further.handle.signal(deliveryMessages.replay);
  await keep('parkDeadLetter/replayed-and-retried', further.workflowId);

  const discarded = await park(alwaysFailing);
  await discarded.handle.signal(deliveryMessages.discard);
  await keep('parkDeadLetter/discarded', discarded.workflowId);

  // More dead letters than a page has, each of another subscription, whose breakers are closed.
  const receivers = await Promise.all(
    Array.from({ length: 21 }, () => scene.subscribe({ maxAttempts: 1, name: 'Redriven' }, failing(1))),
  );
  await scene.run();
  await Promise.all(receivers.map(({ id }) => scene.reaches(id, 'dead_lettered')));
  const taskQueue = taskQueueName(scene.product.taskQueuePrefix, queues.webhooks);
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
  const args: ParkDeadLetterArgs = {
    organizationId,
    environment: 'test',
    correlationId: 'recorded',
    deliveryId: leftAlone,
    eventType: 'test.webhook',
    subscriptionId: newId(),
    parkedMs: 1_000,
    why: 'HTTP 500 after 1 attempt',
  };
  const workflowId = deliveryWorkflowId(leftAlone);
  await workflow.start(webhookWorkflows.parkDeadLetter, { workflowId, taskQueue, args: [args] });
  await keep('parkDeadLetter/left-alone', workflowId);
  await scene.close();
}
