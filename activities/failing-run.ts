import { failRun } from '../src/automation/runs/execute-run.ts';
import type { RunRef, RunServices } from '../src/automation/runs/run-execution.ts';
import type { Scope } from '../src/platform/database/scope.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import { failingUnexpected } from './unexpected-error.ts';

/** Does the work of an activity of a run. The run fails when that keeps failing unexpectedly. */
export const failingRun = <Result>(
  services: RunServices,
  scope: Scope,
  ref: RunRef,
  work: () => Promise<Result>,
): Promise<Result> => {
  const job = {
    log: services.log,
    kind: 'run',
    facts: { runId: ref.runId },
    failureType: failureTypes.runFailed,
    fail: () => failRun(services, scope, ref),
  };
  return failingUnexpected(job, work);
};
