import { type ApplicationFailure, Context } from '@temporalio/activity';
import { cancelRunRow } from '../src/automation/runs/cancel-run.ts';
import { type CallRef, continueRun, failRun, walkSteps } from '../src/automation/runs/execute-run.ts';
import type { RunProgress, RunRef, RunServices } from '../src/automation/runs/run-execution.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Scope } from '../src/platform/database/scope.ts';
import { ProviderFailure } from '../src/platform/provider-failure.ts';
import type { RunPolicy } from '../src/temporal/contracts/automation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { failingUnexpected, inLocalTime, retryableFailure, scopeOf, withHeartbeats } from './activity-context.ts';

/** Reported every third time: the answer says whether it was cancelled, so a cancelled call is aborted within seconds. */
const heartbeatMs = 1_000;

/**
 * A provider's failure as a retryable ApplicationFailure: retried when the provider allows it, up to the policy's
 * limit.
 */
function retryable({ message, retryAfterMs }: ProviderFailure, { modelCall }: RunPolicy): ApplicationFailure {
  const limited = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, modelCall.maximumRetryAfterMs);
  return retryableFailure({ message, retryAfterMs: limited });
}

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

/** The arguments of a step's activity. */
interface CallStepArgs extends CallRef, WorkContext {
  /** Attempts of a step in all, interrupted ones included, unless the step sets its own number. */
  maxAttempts: number;
  /** How long steps after the first one may begin. */
  continueForMs: number;
}

interface RunActivityServices extends RunServices {
  database: Database;
  /** Aborted when the process begins to drain. */
  draining: AbortController;
  runPolicy: RunPolicy;
}

export const createRunActivities = ({ database, draining, runPolicy, ...services }: RunActivityServices) => ({
  /** Executes the steps that answer at once. A run that fails unexpectedly each time is ended as failed. */
  async walkSteps(ref: RunRef & WorkContext): Promise<RunProgress> {
    const scope = scopeOf(database, ref);
    const work = () => withHeartbeats(heartbeatMs, () => walkSteps(services, scope, ref));
    return failingRun(services, scope, ref, () => inLocalTime(work));
  },

  /**
   * Executes a step that calls out, however long its model takes, and the steps after it. Heartbeats name the current
   * step. Fails retryably while the provider may answer later. An activity that was retried stops after its step, so
   * that the attempts and the intervals between them are those of one step.
   */
  async callStep({ maxAttempts, continueForMs, ...ref }: CallStepArgs): Promise<RunProgress> {
    const context = Context.current();
    const until = performance.now() + continueForMs;
    let stepId: string | undefined;
    const onCall = (id: string) => {
      stepId = id;
    };
    const mayGoOn = () => context.info.attempt === 1 && performance.now() < until && !draining.signal.aborted;
    const scope = scopeOf(database, ref);
    const work = (signal: AbortSignal) =>
      continueRun(services, scope, ref, {
        maxAttempts,
        signal,
        onCall,
        mayGoOn,
        toolsMs: runPolicy.modelCall.timeoutMs,
      });
    return failingRun(services, scope, ref, async () => {
      try {
        return await withHeartbeats(heartbeatMs, work, () => ({ stepId }));
      } catch (failure) {
        throw failure instanceof ProviderFailure ? retryable(failure, runPolicy) : failure;
      }
    });
  },

  /** Records the run as cancelled, unless it has ended, and releases its slot to call out. */
  async recordCancelled(ref: RunRef & WorkContext): Promise<void> {
    const scope = scopeOf(database, ref);
    await services.activeRuns.release(scope, ref.runId);
    if (await cancelRunRow(scope, ref.runId)) {
      services.waiters.notifyLocal(ref.runId);
      services.countRunEnd('cancelled');
    }
  },
});

export type RunActivities = ReturnType<typeof createRunActivities>;
