import type { WorkContext } from './work-context.ts';

export const integrationWorkflows = { performAction: 'performAction' } as const;

export interface IntegrationWorkflows {
  performAction(args: PerformActionArgs): Promise<void>;
}

/** One id per action: Temporal refuses a second start of the same one, whichever process makes it. */
export const actionWorkflowId = (actionId: string) => `action-${actionId}`;

/** Every duration of an action is a value, so that tests run a whole retry schedule in seconds. */
export interface ActionPolicy {
  /** Of one attempt at the provider. */
  attemptMs: number;
  /** How much longer than an attempt a process is believed to be at it. */
  graceMs: number;
  /** Of the activity around it. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** How often a provider is asked in all, while it certainly did nothing. */
  maximumAttempts: number;
  /** The first pause between two of them, where the provider does not say. The next one is three times as long. */
  firstPauseMs: number;
  /** Of all pauses together. */
  pausesMs: number;
  /** Between two attempts of an activity after an error of our own, such as a database that cannot be reached. */
  retryMs: number;
  /** How long an action may take, from when it is due. */
  deadlineMs: number;
}

export const defaultActionPolicy: ActionPolicy = {
  attemptMs: 30_000,
  graceMs: 5_000,
  timeoutMs: 45_000,
  heartbeatTimeoutMs: 10_000,
  maximumAttempts: 3,
  firstPauseMs: 500,
  pausesMs: 5_000,
  retryMs: 1_000,
  deadlineMs: 120_000,
};

/** References and small values only: payloads and answers stay in PostgreSQL. */
export interface PerformActionArgs extends WorkContext {
  actionId: string;
  /** Notification channel of the process whose caller waits for the end. */
  waiter: string | null;
  /** When it is due, in Unix milliseconds; absent: now. */
  dueAt?: number;
  /** The process that made it has begun it. */
  begun?: boolean;
  policy: ActionPolicy;
}

/** `pause`: it is to be tried again after so long. `elsewhere`: another process has begun it. */
export type ActionProgress =
  | { kind: 'ended' }
  | { kind: 'failed'; code: string }
  | { kind: 'pause' | 'elsewhere'; ms: number };
