import type { JobArgs, JobContract, JobEnd } from './jobs.ts';
import { queues } from './queues.ts';

export const actionContract = {
  name: 'action',
  noun: 'action',
  idName: 'actionId',
  workflow: 'performAction',
  queue: queues.integrations,
  failureType: 'ActionFailed',
  isFree: true,
} as const satisfies JobContract;

export interface IntegrationWorkflows {
  performAction(args: PerformActionArgs): Promise<void>;
}

export interface ActionPolicy {
  /** Time limit of one attempt at the provider. */
  attemptMs: number;
  /** How much longer than an attempt a process is believed to be at it. */
  graceMs: number;
  /** Time limit of the activity around it. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** Maximum requests to a provider, while it certainly did nothing. */
  maximumAttempts: number;
  /** The first pause between two of them, where the provider does not say. The next one is three times as long. */
  firstPauseMs: number;
  /** Time limit of all pauses together. */
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

export interface PerformActionArgs extends JobArgs<ActionPolicy> {
  /** When it is due, in Unix milliseconds; absent: now. */
  dueAt?: number;
  /** The process that created it has begun it. */
  begun?: boolean;
}

/** `pause`: another attempt is due after this time. `elsewhere`: another process has begun it. */
export type ActionProgress = JobEnd | { kind: 'pause' | 'elsewhere'; ms: number };
