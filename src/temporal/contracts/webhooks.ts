import type { WorkContext } from './work-context.ts';

export const webhookWorkflows = {
  deliverWebhook: 'deliverWebhook',
  redriveDeadLetters: 'redriveDeadLetters',
} as const;

export interface WebhookWorkflows {
  deliverWebhook(args: DeliverWebhookArgs): Promise<'delivered' | 'failed' | 'dead_lettered'>;
  redriveDeadLetters(args?: RedriveArgs): Promise<RedriveOutcome>;
}

/** Of a delivery that failed once, for as long as it may be replayed. */
export const deliveryWorkflowId = (deliveryId: string) => `delivery-${deliveryId}`;

/**
 * Messages that a delivery's workflow accepts. The product sends `resume` when the delivery's row has changed. Operators
 * send the others from Temporal's web UI; their arguments are ignored.
 */
export const deliveryMessages = {
  replay: 'replay',
  replayNow: 'replayNow',
  discard: 'discard',
  resume: 'resume',
} as const;

/** A delivery that failed once. */
export interface DeliverWebhookArgs extends WorkContext {
  deliveryId: string;
  /** What operators see without asking the database. */
  eventType: string;
  subscriptionId: string;
  begin: DeliveryProgress;
  /** How long a dead letter waits for its replay. */
  parkedMs: number;
  /** Task queue of its attempts. Workflows that began before there was this argument use the queue without a prefix. */
  attemptsQueue?: string;
}

/**
 * Where a delivery stands.
 * - wait: its next attempt is due in so many ms
 * - dead_lettered: it waits until it is replayed or discarded
 * - over: delivered, or failed for good
 */
export type DeliveryProgress =
  | { kind: 'wait'; ms: number }
  | { kind: 'dead_lettered'; why: string }
  | { kind: 'over'; status: 'delivered' | 'failed' };

/** Which dead letters to replay, as an operator types it: ids in either form. All of them when it is empty. */
export interface RedriveArgs {
  organizationId?: string;
  webhookId?: string;
  /** An earlier name of `webhookId`. */
  subscriptionId?: string;
  eventType?: string;
  /** ISO 8601: dead-lettered since then. */
  since?: string;
  /** Replays per second; 20 unless given. */
  perSecond?: number;
}

export interface RedriveOutcome {
  replayed: number;
}
