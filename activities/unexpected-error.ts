import { ApplicationFailure, Context } from '@temporalio/activity';
import { WorkQueueFull } from '../src/platform/bounded-work/task.ts';
import { isDatabaseUnavailable } from '../src/platform/database/database-errors.ts';
import { AppError } from '../src/platform/errors.ts';
import type { Log } from '../src/platform/observability/log.ts';
import { StorageFailure } from '../src/storage/failure.ts';

/** Attempts after which an error that is not temporary fails the job. */
const unexpectedAttempts = 5;

/** Whether the same attempt may succeed later: what the process needs is not available at the moment. */
const isTemporary = (error: unknown): boolean =>
  error instanceof WorkQueueFull ||
  error instanceof StorageFailure ||
  (error instanceof AppError && error.code === 'service_unavailable') ||
  isDatabaseUnavailable(error);

export interface Job {
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
 * Does the work of an activity whose workflow retries it without limit. An error that is not temporary fails the job after
 * five attempts: its row, and its workflow with the error's message. What the activity throws deliberately passes.
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
