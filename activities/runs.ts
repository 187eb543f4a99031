import { ApplicationFailure, Context } from '@temporalio/activity';
import type { RunProgress, RunRef, RunServices } from '../src/automation/advance-run.ts';
import { type CallRef, callStep, failRun } from '../src/automation/call-step.ts';
import { cancelRunRow } from '../src/automation/cancel-run.ts';
import { walkSteps } from '../src/automation/walk-steps.ts';
import { WorkQueueFull } from '../src/platform/bounded-work/task.ts';
import type { Database } from '../src/platform/database.ts';
import { databaseFailure } from '../src/platform/database-errors.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import type { RunPolicy } from '../src/temporal/contracts/automation.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { scopeOf } from './work-scope.ts';

/** Cancellation reaches an activity with its heartbeats, so this is also how soon a cancelled call is aborted. */
const heartbeatMs = 1_000;

/** How often something is tried that fails and that no waiting is known to help. */
const unexpectedAttempts = 3;

/** A provider's failure as Temporal understands it: tried again no sooner than the provider wishes, within reason. */
function retryable(failure: ProviderFailure, { modelCall }: RunPolicy): ApplicationFailure {
  const { retryAfterMs } = failure;
  return ApplicationFailure.create({
    message: failure.message,
    type: failureTypes.providerUnavailable,
    ...(retryAfterMs !== undefined && { nextRetryDelay: Math.min(retryAfterMs, modelCall.maximumRetryAfterMs) }),
  });
}

export interface RunActivityServices extends RunServices {
  database: Database;
  runPolicy: RunPolicy;
}

export const createRunActivities = ({ database, runPolicy, ...services }: RunActivityServices) => ({
  /** Performs what answers at once. A run that always fails unexpectedly is ended, so that it does not go on for ever. */
  async walkSteps(ref: RunRef & WorkContext): Promise<RunProgress> {
    const scope = scopeOf(database, ref);
    try {
      return await walkSteps(services, scope, ref);
    } catch (error) {
      const { isLocal, attempt } = Context.current().info;
      const mayPass = error instanceof WorkQueueFull || databaseFailure(error)?.code === 'service_unavailable';
      if (isLocal || mayPass || attempt < unexpectedAttempts) throw error;
      services.log.error({ err: error, runId: ref.runId }, 'a run is ended because it cannot go on');
      return failRun(services, scope, ref);
    }
  },

  /** Performs the step, however long its model takes. Fails retryably while the provider may answer later. */
  async callStep(ref: CallRef & WorkContext): Promise<RunProgress> {
    const context = Context.current();
    const heartbeat = setInterval(() => context.heartbeat(), heartbeatMs);
    try {
      return await callStep(services, scopeOf(database, ref), ref, context.cancellationSignal);
    } catch (failure) {
      throw failure instanceof ProviderFailure ? retryable(failure, runPolicy) : failure;
    } finally {
      clearInterval(heartbeat);
    }
  },

  /** Records that the run was cancelled, unless it has ended. */
  async recordCancelled(ref: RunRef & WorkContext): Promise<void> {
    if (await cancelRunRow(scopeOf(database, ref), ref.runId)) {
      services.waiters.tell(ref.runId);
      services.countRunEnd('cancelled');
    }
  },
});

export type RunActivities = ReturnType<typeof createRunActivities>;
