import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const conversationWorkflows = { takeTurn: 'takeTurn' } as const;

export interface ConversationWorkflows {
  takeTurn(args: ReplyToMessageArgs): Promise<void>;
}

/** One id per turn: Temporal refuses a second start of the same one, whichever process makes it. */
export const messageWorkflowId = (turnId: string) => `turn-${turnId}`;

/** Every duration of a turn is a value, so that tests run a whole retry schedule in seconds. */
export interface MessagePolicy {
  /** Of one question to a model, which ends with the turn in any case. */
  modelTimeoutMs: number;
  /** Of one call of a tool, with the time for which it waits for its turn. */
  toolTimeoutMs: number;
  heartbeatTimeoutMs: number;
  /** How often a question is asked in all, while its failure may pass. */
  retry: RetryProfile;
  /** A provider that asks for a longer wait is not asked again. */
  maximumRetryAfterMs: number;
  /** How long a turn may take from its creation. */
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

/** References and small values only: what was said stays in PostgreSQL. */
export interface ReplyToMessageArgs extends WorkContext {
  turnId: string;
  /** Notification channel of the process whose caller waits for the reply; null when none does. */
  waiter: string | null;
  /** Whether that caller is told the text while it is written. */
  streams: boolean;
  /** Whether the model answers at once, without the network. */
  isInstant: boolean;
  policy: MessagePolicy;
}

/**
 * What a question to the model led to. `calls`: the calls of tools that it asks for, by their positions in its answer.
 */
export type MessageProgress = { kind: 'calls'; calls: number[] } | { kind: 'ended' } | { kind: 'failed'; code: string };
