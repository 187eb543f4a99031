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

/** Heartbeats deliver cancellation, so this is also how soon a cancelled call is aborted. */
const heartbeatMs = 1_000;

/** Attempts after an error that waiting is not known to cure. */
const unexpectedAttempts = 3;

/** A provider's failure as a retryable ApplicationFailure: retried when the provider asks for it, up to the policy's limit. */
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
  /** Executes the steps that answer at once. A run that fails unexpectedly each time is ended as failed. */
  async walkSteps(ref: RunRef & WorkContext): Promise<RunProgress> {
    const scope = scopeOf(database, ref);
    try {
      return await walkSteps(services, scope, ref);
    } catch (error) {
      const { isLocal, attempt } = Context.current().info;
      const mayPass = error instanceof WorkQueueFull || databaseFailure(error)?.code === 'service_unavailable';
      if (isLocal || mayPass || attempt < unexpectedAttempts) throw error;
      services.log.error({ err: error, runId: ref.runId }, 'run failed: its steps keep failing unexpectedly');
      return failRun(services, scope, ref);
    }
  },

  /** Executes a step that calls out, however long its model takes. Fails retryably while the provider may answer later. */
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

  /** Records the run as cancelled, unless it has ended. */
  async recordCancelled(ref: RunRef & WorkContext): Promise<void> {
    if (await cancelRunRow(scopeOf(database, ref), ref.runId)) {
      services.waiters.tell(ref.runId);
      services.countRunEnd('cancelled');
    }
  },
});

export type RunActivities = ReturnType<typeof createRunActivities>;
