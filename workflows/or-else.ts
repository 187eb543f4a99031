import { isCancellation, TemporalFailure } from '@temporalio/workflow';

/**
 * Waits for local activities, and falls back when they fail, for example while the database is down. A local activity throws
 * the failure itself, or its timeout, without an ActivityFailure around it. Cancellations and errors of the workflow's own
 * code are thrown on.
 */
export async function orElse<Outcome, Other>(
  tried: Promise<Outcome>,
  otherwise: () => Other | Promise<Other>,
): Promise<Outcome | Other> {
  try {
    return await tried;
  } catch (failure) {
    if (isCancellation(failure) || !(failure instanceof TemporalFailure)) throw failure;
    return otherwise();
  }
}
