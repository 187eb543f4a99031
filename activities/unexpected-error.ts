import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Log } from '../src/platform/observability/log.ts';
import { isTemporary, unexpectedAttempts } from '../src/storage/temporary.ts';

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
