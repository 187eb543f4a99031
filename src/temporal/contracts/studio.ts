import type { JobArgs, JobContract, JobEnd } from './jobs.ts';
import { queues } from './queues.ts';
import type { RetryProfile } from './retry-profile.ts';

export const generationContract = {
  name: 'generation',
  noun: 'generation',
  idName: 'generationId',
  workflow: 'makeGeneration',
  queue: queues.generation,
  failureType: 'GenerationFailed',
} as const satisfies JobContract;

export interface StudioWorkflows {
  makeGeneration(args: MakeGenerationArgs): Promise<void>;
}

export const generationMessages = {
  /** The provider has reported a change: look now. Harmless at any other time. */
  providerReported: 'providerReported',
} as const;

export interface GenerationPolicy {
  /** Time limit of one call, which may render a file. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /**
   * Time limit of an instant generation, before it is processed like any other. Shorter than the timeout of a workflow
   * task.
   */
  instantMs: number;
  retry: RetryProfile;
  /** How long a provider has to take a job. */
  submitTimeoutMs: number;
  /** Pauses before a finished job without a usable file is looked at again; after the last one the generation fails. */
  withoutFileMs: readonly number[];
  /** When to poll a provider that does not say when to poll. */
  poll: { video: PollProfile; others: PollProfile };
  /** A job whose caller polls it is polled once in so many milliseconds, whatever `poll` says. */
  watchedEveryMs: number;
  /** How long a generation may take from its creation. */
  deadlineMs: { video: number; others: number };
}

/** As `PollSchedule` of Studio. */
interface PollProfile {
  leastMs: number;
  mostMs: number;
  share: number;
  notBefore: number;
}

export const defaultGenerationPolicy: GenerationPolicy = {
  timeoutMs: 200_000,
  heartbeatTimeoutMs: 10_000,
  instantMs: 5_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 5 },
  submitTimeoutMs: 60_000,
  withoutFileMs: [2_000, 6_000, 15_000],
  // A video of a minute is polled two or three times, because a thousand may be under way. Runway recommends to poll a
  // job no more often than every five seconds.
  poll: {
    video: { leastMs: 5_000, mostMs: 30_000, share: 0.2, notBefore: 0.5 },
    others: { leastMs: 1_000, mostMs: 5_000, share: 0.1, notBefore: 0 },
  },
  watchedEveryMs: 5_000,
  deadlineMs: { video: 1_800_000, others: 300_000 },
};

export interface MakeGenerationArgs extends JobArgs<GenerationPolicy> {
  /** It takes a moment, and is made within the workflow's first task. Absent: it may take longer. */
  instant?: boolean;
}

/** A generation that waits for its provider. */
export interface WaitingForProvider {
  kind: 'wait' | 'lost';
  ms: number;
  /** Its display name. */
  provider: string;
  percent: number;
  /** How often the finished job had no usable file, so far. */
  withoutFile?: number;
}

/**
 * The state of a generation. `wait`: look again after so many milliseconds. `lost`: the same, but it is not known
 * whether the provider took the job; only its report can show it, or the attempt that submitted it, if that still runs.
 * `image`: the same, for a slot to fetch the input image.
 */
export type GenerationProgress = WaitingForProvider | { kind: 'image'; ms: number } | JobEnd;
