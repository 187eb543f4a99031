import { Context } from '@temporalio/activity';
import type { StopReason } from '../src/jobs/index.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Scope } from '../src/platform/database/scope.ts';
import type { Log } from '../src/platform/observability/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import type { JobContext, JobContract, JobRef } from '../src/temporal/contracts/jobs.ts';
import { withHeartbeats } from './heartbeats.ts';
import { retryableFailure } from './retryable-failure.ts';
import { failingUnexpected } from './unexpected-error.ts';
import { scopeOf } from './work-scope.ts';

const heartbeatMs = 1_000;

export interface Attempt {
  /** From 1. */
  attempt: number;
  /** Aborted when the activity is cancelled. */
  signal: AbortSignal;
}

interface StoppableJob<Services> {
  contract: JobContract;
  stop(services: Services, scope: Scope, ref: JobRef, reason: StopReason): Promise<boolean>;
}

/** The common work of every job's activities. */
export const jobActivities = <Services>(
  job: StoppableJob<Services>,
  services: NoInfer<Services> & { database: Database; log: Log },
) => ({
  /**
   * Makes an attempt at a job's work, with heartbeats. Temporal makes another one after a failure of a provider, which
   * `work` throws only while another attempt may succeed. A persistent error fails the job.
   */
  attempt<Result>(ref: JobContext, work: (scope: Scope, call: Attempt) => Promise<Result>): Promise<Result> {
    const { database, log } = services;
    const { noun, idName, failureType } = job.contract;
    const scope = scopeOf(database, ref);
    const guarded = {
      log,
      kind: noun,
      facts: { [idName]: ref.id },
      failureType,
      fail: () => job.stop(services, scope, ref, 'unexpected'),
    };
    return failingUnexpected(guarded, async () => {
      const { attempt } = Context.current().info;
      try {
        return await withHeartbeats(heartbeatMs, (signal) => work(scope, { attempt, signal }));
      } catch (failure) {
        throw failure instanceof ProviderFailure ? retryableFailure(failure) : failure;
      }
    });
  },

  /** Records the job as cancelled, unless it has ended. */
  async recordCancelled(ref: JobContext): Promise<void> {
    await job.stop(services, scopeOf(services.database, ref), ref, 'cancelled');
  },
});
