import { ApplicationFailure, Context } from '@temporalio/activity';

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
