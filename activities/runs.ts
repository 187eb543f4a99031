import { ApplicationFailure, Context } from '@temporalio/activity';
import {
  completeRun,
  performStep,
  type RunRef,
  type RunServices,
  type StepOutcome,
  type StepRef,
} from '../src/automation/perform-step.ts';
import type { Database } from '../src/platform/database.ts';
import { Scope } from '../src/platform/scope.ts';
import { ProviderFailure } from '../src/providers/ports.ts';
import { failureTypes, type WorkContext } from '../src/temporal/contracts.ts';

/** Cancellation reaches an activity with its heartbeats, so this is also how soon a cancelled call is aborted. */
const heartbeatMs = 1_000;

export const scopeOf = (database: Database, { organizationId, environment, correlationId }: WorkContext) =>
  new Scope(database, { organizationId, environment }, correlationId);

export const createRunActivities = (database: Database, services: RunServices) => ({
  /** Performs the step if its model answers at once; says so and does nothing otherwise. */
  performInstantStep(ref: StepRef & WorkContext): Promise<StepOutcome> {
    return performStep(services, scopeOf(database, ref), ref);
  },

  /** Performs the step, however long its model takes. Fails retryably while the provider may answer later. */
  async performStep(ref: StepRef & WorkContext): Promise<StepOutcome> {
    const context = Context.current();
    const heartbeat = setInterval(() => context.heartbeat(), heartbeatMs);
    try {
      return await performStep(services, scopeOf(database, ref), ref, { signal: context.cancellationSignal });
    } catch (failure) {
      if (!(failure instanceof ProviderFailure)) throw failure;
      throw ApplicationFailure.create({
        message: failure.message,
        type: failureTypes.providerUnavailable,
        ...(failure.retryAfterMs !== undefined && { nextRetryDelay: failure.retryAfterMs }),
      });
    } finally {
      clearInterval(heartbeat);
    }
  },

  /** Completes a run that has no steps. */
  completeRun(ref: RunRef & WorkContext): Promise<void> {
    return completeRun(services, scopeOf(database, ref), ref);
  },
});
