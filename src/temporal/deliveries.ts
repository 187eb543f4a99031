import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import {
  type DeliverWebhookArgs,
  deliveryMessages,
  deliveryWorkflowId,
  type Fairness,
  workflowTypes,
} from './contracts.ts';
import { attributesOf, deliveryStatusOf } from './search-attributes.ts';

/** The workflows of deliveries that failed once. */
export class Deliveries {
  readonly #client: Client;
  readonly #taskQueue: string;

  constructor(client: Client, taskQueue: string) {
    this.#client = client;
    this.#taskQueue = taskQueue;
  }

  /** Leaves one alone that is open. */
  async start(args: DeliverWebhookArgs, fairness: Fairness): Promise<void> {
    try {
      await this.#client.workflow.start(workflowTypes.deliverWebhook, this.#options(args, fairness) as never);
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }

  /** Makes one look at its row again, which has changed; one that is not there begins with it. */
  async resume(args: DeliverWebhookArgs, fairness: Fairness): Promise<void> {
    const options = { ...this.#options(args, fairness), signal: deliveryMessages.resume, signalArgs: [] };
    await this.#client.workflow.signalWithStart(workflowTypes.deliverWebhook, options as never);
  }

  /** The same for one that is over or was never started: then nothing happens. */
  async resumeIfOpen(deliveryId: string): Promise<void> {
    try {
      await this.#client.workflow.getHandle(deliveryWorkflowId(deliveryId)).signal(deliveryMessages.resume);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }

  #options(args: DeliverWebhookArgs, fairness: Fairness) {
    const status = args.begin.kind === 'dead_lettered' ? 'dead_lettered' : 'retrying';
    return {
      workflowId: deliveryWorkflowId(args.deliveryId),
      taskQueue: this.#taskQueue,
      args: [args],
      memo: { correlationId: args.correlationId, eventType: args.eventType },
      typedSearchAttributes: [...attributesOf(args.organizationId, args.subscriptionId), deliveryStatusOf(status)],
      priority: { fairnessKey: fairness.key, fairnessWeight: fairness.weight },
    };
  }
}
