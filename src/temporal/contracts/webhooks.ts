import type { WorkContext } from './work-context.ts';

export const webhookWorkflows = {
  retryWebhook: 'retryWebhook',
  parkDeadLetter: 'parkDeadLetter',
  redriveDeadLetters: 'redriveDeadLetters',
} as const;

export interface WebhookWorkflows {
  retryWebhook(args: RetryWebhookArgs): Promise<void>;
  parkDeadLetter(args: ParkDeadLetterArgs): Promise<LetterEnd>;
  redriveDeadLetters(args?: RedriveArgs): Promise<RedriveOutcome>;
}

/** The workflow of a subscription's waiting retries; it ends with the last of them. */
export const webhookWorkflowId = (subscriptionId: string) => `webhook-${subscriptionId}`;

/**
 * Messages that a subscription's workflow accepts. The product sends `wake` when there is something new to look at.
 * Operators send the others from Temporal's web UI; their arguments are ignored.
 */
export const webhookMessages = {
  wake: 'wake',
  retryNow: 'retryNow',
  pause: 'pause',
  resume: 'resume',
} as const;

export interface RetryWebhookArgs extends WorkContext {
  subscriptionId: string;
}

/** The requests of operators since the last look. */
export interface RetryOrders {
  retryNow: boolean;
  pause: boolean;
  resume: boolean;
}

/**
 * What a subscription's workflow does next.
 * - wait: it looks again after so many ms. `again`: the order `retryNow` is not done yet
 * - over: nothing waits
 */
export type RetryLook =
  | { kind: 'wait'; waitMs: number; again: boolean; details: string }
  | { kind: 'over'; details: string };

/** The workflow of a dead letter, for as long as operators may replay it there. */
export const deliveryWorkflowId = (deliveryId: string) => `delivery-${deliveryId}`;

/**
 * Messages that a dead letter's workflow accepts. The product sends `resume` when the delivery's row has changed. Operators
 * send the others from Temporal's web UI; their arguments are ignored.
 */
export const deliveryMessages = {
  replay: 'replay',
  replayNow: 'replayNow',
  discard: 'discard',
  resume: 'resume',
} as const;

export interface ParkDeadLetterArgs extends WorkContext {
  deliveryId: string;
  /** What operators see without asking the database. */
  eventType: string;
  subscriptionId: string;
  /** Why it is a dead letter. */
  why: string;
  /** How long it waits for its replay. */
  parkedMs: number;
}

/** The end of a dead letter's workflow. `retrying`: it was replayed, and the workflow of its subscription continues. */
export type LetterEnd = 'delivered' | 'failed' | 'dead_lettered' | 'retrying';

/** `left`: too many dead letters are newer, and only newer ones have workflows. */
export type DeadLetterProgress = DeliveryProgress | { kind: 'left' };

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
  eventType?: string;
  /** ISO 8601: dead-lettered since then. */
  since?: string;
  /** Replays per second; 20 unless given. */
  perSecond?: number;
}

export interface RedriveOutcome {
  replayed: number;
}
