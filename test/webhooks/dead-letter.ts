import { deliveryWorkflowId } from '../../src/temporal/contracts/webhooks.ts';
import { deliveryIds, webhookIds } from '../../src/webhooks/core/ids.ts';
import type { SharedWebhookScene, Subscribed } from './scene.ts';

/** A delivery that was given up, and the server that did not take it. */
export interface DeadLetter extends Subscribed {
  /** `dlv_…` */
  deliveryId: string;
  /** The same as a uuid. */
  uuid: string;
  workflowId: string;
  /** From now on its server takes everything. */
  mend(): void;
}

/** Subscribes a server that answers 500, and waits until the one attempt to send it a test was given up. */
export async function deadLetter(scene: SharedWebhookScene, fields: object = {}): Promise<DeadLetter> {
  let status = 500;
  // It listens to nothing that happens here by itself.
  const own = { maxAttempts: 1, events: ['workflow.run.failed'], ...fields };
  const subscribed = await scene.subscribe(own, () => ({ status }));
  await scene.api.post(`/v1/webhooks/${subscribed.id}/test`);
  const { id: deliveryId } = await scene.reaches(subscribed.id, 'dead_lettered');
  const uuid = deliveryIds.parse(deliveryId)!;
  const mend = () => {
    status = 200;
  };
  return { ...subscribed, deliveryId, uuid, workflowId: deliveryWorkflowId(uuid), mend };
}

/** Opens the breaker of its webhook, for an hour. */
export async function openBreaker({ product }: SharedWebhookScene, { id }: DeadLetter): Promise<void> {
  const open = `update webhook_subscription set next_probe_at = now() + interval '1 hour' where id = $1`;
  await product.database.pool.query(open, [webhookIds.parse(id)]);
}
