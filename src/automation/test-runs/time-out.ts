import type { Scope } from '../../platform/database/scope.ts';
import { testSeconds } from '../core/mocks.ts';
import type { CancelRunServices } from '../runs/cancel-run.ts';
import { endRuns, testTimedOut } from '../starts/end-runs.ts';

/** How long a test run may take. */
export const testTimeoutMs = testSeconds * 1_000;

/** Cancels a test run that has timed out. A sweep cancels test runs whose caller has disconnected. */
export async function timeOutTestRun(
  { waiters, countRunEnd }: CancelRunServices,
  scope: Scope,
  runId: string,
): Promise<void> {
  const ended = await scope.transaction((tx) => endRuns(tx, [runId], testTimedOut));
  if (ended.length === 0) return;
  waiters.notifyLocal(runId);
  countRunEnd(testTimedOut.status);
}
