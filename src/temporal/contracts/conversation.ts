import type { JobArgs, JobContract, JobEnd } from './jobs.ts';
import { queues } from './queues.ts';
import type { RetryProfile } from './retry-profile.ts';

/** Version 0.2.0 stored a message as a turn: its rows and workflows keep those names, so new ones have them too. */
export const messageContract = {
  name: 'message',
  storedName: 'turn',
  noun: 'message',
  idName: 'messageId',
  workflow: 'takeTurn',
  queue: queues.generation,
  // Histories of version 0.2.0 have this name.
  failureType: 'TurnFailed',
} as const satisfies JobContract;

export interface ConversationWorkflows {
  takeTurn(args: ReplyToMessageArgs): Promise<void>;
}

export interface MessagePolicy {
  /** Maximum time of one call of a model, which ends with the message in any case. */
  modelTimeoutMs: number;
  /** Maximum time of one call of a tool, including its wait for other calls of the same server. */
  toolTimeoutMs: number;
  heartbeatTimeoutMs: number;
  /** Attempts to call the model while its failure may pass. */
  retry: RetryProfile;
  /** A provider that requests a longer wait is not asked again. */
  maximumRetryAfterMs: number;
  /** How long a message may take from its creation. */
  deadlineMs: number;
}

export const defaultMessagePolicy: MessagePolicy = {
  modelTimeoutMs: 310_000,
  toolTimeoutMs: 310_000,
  heartbeatTimeoutMs: 10_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 4 },
  maximumRetryAfterMs: 30_000,
  deadlineMs: 300_000,
};

export interface ReplyToMessageArgs extends JobArgs<MessagePolicy> {
  /** Whether its caller receives the text while it is written. */
  streams: boolean;
  /** Whether the model answers at once, without the network. */
  isInstant: boolean;
}

/**
 * The outcome of a call of the model. `calls`: the calls of tools that it asks for, by their positions in its answer.
 */
export type MessageProgress = { kind: 'calls'; calls: number[] } | JobEnd;
