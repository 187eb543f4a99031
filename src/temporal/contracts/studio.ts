import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const studioWorkflows = { makeGeneration: 'makeGeneration' } as const;

export interface StudioWorkflows {
  makeGeneration(args: MakeGenerationArgs): Promise<void>;
}

/** One id per generation: Temporal refuses a second start of the same one, whichever process makes it. */
export const generationWorkflowId = (generationId: string) => `generation-${generationId}`;

/** Every duration of a generation is a value, so that tests run a whole retry schedule in seconds. */
export interface GenerationPolicy {
  /** Of one call, which may render a file. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  retry: RetryProfile;
}

export const defaultGenerationPolicy: GenerationPolicy = {
  timeoutMs: 200_000,
  heartbeatTimeoutMs: 10_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 5 },
};

/** References and small values only: what was asked stays in PostgreSQL. */
export interface MakeGenerationArgs extends WorkContext {
  generationId: string;
  /** Notification channel of the process that waits for the end; null when none does. */
  waiter: string | null;
  policy: GenerationPolicy;
}

/** Where a generation stands. `wait`: look again after so many milliseconds. */
export type GenerationProgress =
  | { kind: 'wait'; ms: number }
  | { kind: 'ended' }
  | { kind: 'failed'; code: string; message: string };
