import type { RetryProfile } from './retry-profile.ts';
import type { WorkContext } from './work-context.ts';

export const followWorkflows = { followIntegration: 'followIntegration' } as const;

export interface FollowWorkflows {
  followIntegration(args: FollowIntegrationArgs): Promise<FollowOutcome>;
}

/** The id of a connection's Temporal Schedule. The workflows that it starts have this id and the time they were due at. */
export const followScheduleId = (connectionId: string) => `follow-${connectionId}`;

export interface FollowPolicy {
  /** Time limit of one run, which requests all pages. */
  timeoutMs: number;
  heartbeatTimeoutMs: number;
  /** Time limit of one request. */
  requestMs: number;
  /** After an error of our own, such as a database that cannot be reached. */
  retry: RetryProfile;
}

export const defaultFollowPolicy: FollowPolicy = {
  timeoutMs: 300_000,
  heartbeatTimeoutMs: 15_000,
  requestMs: 30_000,
  retry: { initialIntervalMs: 1_000, backoff: 2, maximumIntervalMs: 30_000, maximumAttempts: 5 },
};

/** All attempts of one run with the waits in between. */
export const followLimitMs = 1_800_000;

/** The arguments of a Temporal Schedule, without data that could become outdated. */
export interface FollowIntegrationArgs extends Omit<WorkContext, 'correlationId'> {
  connectionId: string;
  policy: FollowPolicy;
}

/**
 * What became of one run.
 * - published: how many events it wrote; `isSubscribed`: whether a webhook listens
 * - stopped: the integration is not connected any more, or has to be connected again
 * - failed: what the provider said; the next run asks again
 */
export type FollowOutcome =
  | { published: number; isSubscribed: boolean }
  | { stopped: 'disconnected' | 'auth_expired' }
  | { failed: string };
