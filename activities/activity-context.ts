import { ApplicationFailure, Context } from '@temporalio/activity';
import type { StopReason } from '../src/jobs/index.ts';
import type { Database } from '../src/platform/database/database.ts';
import { Scope, WorkScope } from '../src/platform/database/scope.ts';
import type { Log } from '../src/platform/observability/log.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import { isTemporary, unexpectedAttempts } from '../src/storage/temporary.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { JobContext, JobContract, JobRef } from '../src/temporal/contracts/jobs.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';

/**
 * The scope of the tenant that a workflow works for. A local activity does not wait for the database: it has ten seconds, and
 * its workflow falls back to an activity that does.
 */
export function scopeOf(database: Database, { organizationId, environment, correlationId }: WorkContext): Scope {
  const KindOfScope = Context.current().info.isLocal ? Scope : WorkScope;
  return new KindOfScope(database, { organizationId, environment }, correlationId);
}

/**
 * Does the work of an activity while it heartbeats. A cancellation reaches an activity only in the answer to a heartbeat.
 * A local activity ends with its worker and sends none.
 * @param everyMs between two heartbeats; the SDK throttles them to a part of the activity's heartbeat timeout
 * @param work its `signal` is aborted when the activity is cancelled
 * @param details sent with each heartbeat, for operators
 */
export async function withHeartbeats<Result>(
  everyMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
  details?: () => unknown,
): Promise<Result> {
  const context = Context.current();
  const beat = context.info.isLocal ? undefined : setInterval(() => context.heartbeat(details?.()), everyMs);
  try {
    return await work(context.cancellationSignal);
  } finally {
    clearInterval(beat);
  }
}

/** Less than the ten seconds that a local activity has. */
const localMs = 8_000;

/**
 * Does the work of an activity that is tried as a local one first. Work that takes too long for a local activity would
 * take too long again, so the first attempt is the only one: its workflow falls back to an activity with heartbeats.
 * The work itself continues, and its recorded results are not produced again.
 * @throws ApplicationFailure that is not retried, of a local activity whose work is not done after eight seconds
 */
export async function inLocalTime<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!Context.current().info.isLocal) return work();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(ApplicationFailure.nonRetryable('The work takes longer than a local activity may.')),
    localMs,
  );
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A failure of a provider in the form after which Temporal retries the activity: after the time that the provider
 * requested, if any.
 */
export const retryableFailure = ({
  message,
  retryAfterMs,
}: Pick<ProviderFailure, 'message' | 'retryAfterMs'>): ApplicationFailure =>
  ApplicationFailure.create({
    message,
    type: failureTypes.providerUnavailable,
    ...(retryAfterMs !== undefined && { nextRetryDelay: retryAfterMs }),
  });

interface Job {
  log: Log;
  /** As logs name it: `message`. */
  kind: string;
  /** Ids of it, for the log. */
  facts: object;
  /** One of `failureTypes`: how its workflow fails. */
  failureType: string;
  /** Records the job as failed, unless it has ended. */
  fail(): Promise<unknown>;
}

/**
 * Does the work of an activity whose workflow retries it without limit. An error that is not temporary fails the job
 * after five attempts: its row, and its workflow with the error's message. Errors that the activity throws deliberately
 * pass through.
 */
export async function failingUnexpected<Result>(job: Job, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { info, cancellationSignal } = Context.current();
    const isDeliberate = error instanceof ApplicationFailure || cancellationSignal.aborted;
    if (isDeliberate || isTemporary(error) || info.isLocal || info.attempt < unexpectedAttempts) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const facts = { ...job.facts, attempt: info.attempt };
    job.log.error({ err: error, ...facts }, `${job.kind} failed: it keeps failing unexpectedly`);
    await job.fail();
    throw ApplicationFailure.create({ message, type: job.failureType, nonRetryable: true, details: [facts] });
  }
}

const heartbeatMs = 1_000;

interface Attempt {
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
