import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { TemporalClient, WorkflowStart } from '../../temporal/client.ts';
import { priorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { searchAttributes } from '../../temporal/contracts/search-attributes.ts';
import {
  deliveryMessages,
  deliveryWorkflowId,
  type ParkDeadLetterArgs,
  type RetryWebhookArgs,
  webhookMessages,
  webhookWorkflowId,
  webhookWorkflows,
} from '../../temporal/contracts/webhooks.ts';
import type { Fairness } from '../../temporal/contracts/work-context.ts';

/** Operators find dead letters by this search attribute. */
const deliveryStatus = defineSearchAttributeKey(searchAttributes.deliveryStatus, SearchAttributeType.KEYWORD);

/**
 * Lets the workflow of a subscription look at its retries, and starts it if it is not open.
 * @param webhook as `describeWebhook` writes it
 */
export const wakeRetryWorkflow = (
  temporal: TemporalClient,
  args: RetryWebhookArgs,
  fairness: Fairness,
  webhook: string,
): Promise<void> =>
  temporal.signalWithStart(webhookMessages.wake, {
    type: webhookWorkflows.retryWebhook,
    workflowId: webhookWorkflowId(args.subscriptionId),
    queue: queues.webhooks,
    priority: priorities.retry,
    args,
    resourceId: args.subscriptionId,
    summary: `webhook ${webhook}`,
    fairness,
  });

const deadLetterWorkflow = (
  args: ParkDeadLetterArgs,
  fairness: Fairness,
  webhook: string,
): WorkflowStart<ParkDeadLetterArgs> => ({
  type: webhookWorkflows.parkDeadLetter,
  workflowId: deliveryWorkflowId(args.deliveryId),
  queue: queues.webhooks,
  priority: priorities.background,
  args,
  resourceId: args.subscriptionId,
  summary: `${args.eventType} to webhook ${webhook}`,
  fairness,
  memo: { eventType: args.eventType },
  searchAttributes: [{ key: deliveryStatus, value: 'dead_lettered' }],
});

/** Starts the workflow of a dead letter, unless it is open. */
export const startDeadLetterWorkflow = (
  temporal: TemporalClient,
  args: ParkDeadLetterArgs,
  fairness: Fairness,
  webhook: string,
): Promise<void> => temporal.start(deadLetterWorkflow(args, fairness, webhook));

/** Lets the workflow of a delivery that is a dead letter again look at it, and starts it if it is not open. */
export const resumeDeadLetterWorkflow = (
  temporal: TemporalClient,
  args: ParkDeadLetterArgs,
  fairness: Fairness,
  webhook: string,
): Promise<void> => temporal.signalWithStart(deliveryMessages.resume, deadLetterWorkflow(args, fairness, webhook));

/** Lets the workflow of a delivery look at it, if it is open. */
export const resumeIfParked = (temporal: TemporalClient, deliveryId: string): Promise<void> =>
  temporal.signalIfOpen(deliveryWorkflowId(deliveryId), deliveryMessages.resume);

/** Subscriptions whose workflows were terminated since then. Temporal lists a workflow some time after its end. */
export async function stoppedRetryWorkflows(temporal: TemporalClient, since: Date): Promise<string[]> {
  const ids = await temporal.workflowIds(
    `TaskQueue = '${temporal.taskQueue(queues.webhooks)}' AND WorkflowType = '${webhookWorkflows.retryWebhook}'
       AND ExecutionStatus IN ('Terminated', 'Canceled', 'Failed', 'TimedOut') AND CloseTime >= '${since.toISOString()}'`,
  );
  const prefix = webhookWorkflowId('');
  return [...new Set(ids)].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
}
