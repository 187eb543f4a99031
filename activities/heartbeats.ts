import { Context } from '@temporalio/activity';

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
