import { ApplicationFailure, Context } from '@temporalio/activity';
import type { RunServices } from '../src/automation/runs/run-execution.ts';
import {
  callStepTool,
  offerStepTools,
  type StepToolServices,
  type ToolProgress,
  type ToolTenant,
} from '../src/automation/steps/call-step-tool.ts';
import type { StepCallRef, StepRef } from '../src/automation/steps/tool-rounds.ts';
import { isTestRun } from '../src/automation/test-runs/test-runs.ts';
import type { Database } from '../src/platform/database/database.ts';
import { Scope } from '../src/platform/database/scope.ts';
import { failureTypes } from '../src/temporal/contracts/failure-types.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { ToolServerUnavailable } from '../src/tools/tool.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';
import { failingRun } from './runs.ts';

const heartbeatMs = 1_000;

/** Does work with tool servers. Temporal retries it while a server is not available. */
async function withTools<Done>(work: (signal: AbortSignal) => Promise<Done>): Promise<Done> {
  try {
    return await withHeartbeats(heartbeatMs, work);
  } catch (error) {
    if (!(error instanceof ToolServerUnavailable)) throw error;
    throw ApplicationFailure.create({ message: error.message, type: failureTypes.providerUnavailable });
  }
}

/** The tools of a test run are those of the sandbox. */
async function toolTenant(database: Database, scope: Scope, { runId }: StepRef): Promise<ToolTenant> {
  const { tenant, correlationId } = scope;
  const isTrial = await isTestRun(scope, runId);
  return { isTrial, scope: isTrial ? new Scope(database, { ...tenant, environment: 'test' }, correlationId) : scope };
}

interface StepToolActivityServices extends StepToolServices, RunServices {
  database: Database;
}

/**
 * What steps of runs do with tool servers, on the queue of messages: the files of the servers are there. Each returns `wait`
 * when its run has to wait for a slot to call out.
 */
export const createStepToolActivities = ({ database, ...services }: StepToolActivityServices) => ({
  /** Finds out which tools the model of a step is offered. The last attempt records that a server is not available. */
  async offerStepTools({
    maxAttempts,
    ...ref
  }: StepRef & WorkContext & { maxAttempts: number }): Promise<ToolProgress> {
    const { attempt } = Context.current().info;
    const scope = scopeOf(database, ref);
    return failingRun(services, scope, { ...ref, waiter: null }, () =>
      withTools(async (signal) =>
        offerStepTools(services, scope, await toolTenant(database, scope, ref), ref, { attempt, maxAttempts, signal }),
      ),
    );
  },

  /** Executes one call of a tool and records its result. */
  async callStepTool(ref: StepCallRef & WorkContext): Promise<ToolProgress> {
    const scope = scopeOf(database, ref);
    return failingRun(services, scope, { ...ref, waiter: null }, () =>
      withTools(async (signal) => callStepTool(services, scope, await toolTenant(database, scope, ref), ref, signal)),
    );
  },
});

export type StepToolActivities = ReturnType<typeof createStepToolActivities>;
