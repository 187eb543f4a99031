import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { TemporalClient, WorkflowStart } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import { searchAttributes } from '../temporal/contracts/search-attributes.ts';
import {
  type DeliverWebhookArgs,
  deliveryMessages,
  deliveryWorkflowId,
  webhookWorkflows,
} from '../temporal/contracts/webhooks.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';

/** Operators find dead letters by this search attribute. */
const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

function startOf(
  temporal: TemporalClient,
  args: DeliverWebhookArgs,
  fairness: Fairness,
): WorkflowStart<DeliverWebhookArgs> {
  const { deliveryId, subscriptionId, eventType, begin } = args;
  return {
    type: webhookWorkflows.deliverWebhook,
    workflowId: deliveryWorkflowId(deliveryId),
    args: { ...args, attemptsQueue: temporal.taskQueue(queues.webhooks) },
    resourceId: subscriptionId,
    fairness,
    memo: { eventType },
    searchAttributes: [{ key: deliveryStatus, value: begin.kind === 'dead_lettered' ? 'dead_lettered' : 'retrying' }],
  };
}

/** Starts the workflow of a delivery that failed once, unless it is open. */
export const startDelivery = (temporal: TemporalClient, args: DeliverWebhookArgs, fairness: Fairness): Promise<void> =>
  temporal.start(startOf(temporal, args, fairness));

/** Signals the workflow of a delivery that its row has changed, and starts it if it is not open. */
export const resumeDelivery = (temporal: TemporalClient, args: DeliverWebhookArgs, fairness: Fairness): Promise<void> =>
  temporal.signalWithStart(deliveryMessages.resume, startOf(temporal, args, fairness));

/** Signals the workflow of a delivery that its row has changed, if it is open. */
export const resumeDeliveryIfOpen = (temporal: TemporalClient, deliveryId: string): Promise<void> =>
  temporal.signalIfOpen(deliveryWorkflowId(deliveryId), deliveryMessages.resume);
