import { Context } from '@temporalio/activity';
import { callStepTool, type ToolCallServices } from '../src/automation/call-step-tool.ts';
import type { StepCallRef } from '../src/automation/tool-rounds.ts';
import type { Database } from '../src/platform/database.ts';
import type { WorkContext } from '../src/temporal/contracts/work-context.ts';
import { scopeOf } from './work-scope.ts';

/** Its answer tells of a cancellation. */
const heartbeatMs = 1_000;

export interface StepToolActivityServices extends ToolCallServices {
  database: Database;
}

/** Calls of tools by steps of runs. They are on the queue of those by messages: the servers' files are there. */
export const createStepToolActivities = ({ database, ...services }: StepToolActivityServices) => ({
  /** Executes one call of a tool and records its result, unless the run has to wait for its turn to call out. */
  async callStepTool(ref: StepCallRef & WorkContext): Promise<{ kind: 'done' | 'wait' }> {
    const { cancellationSignal, heartbeat } = Context.current();
    const beat = setInterval(() => heartbeat(), heartbeatMs);
    try {
      return await callStepTool(services, scopeOf(database, ref), ref, cancellationSignal);
    } finally {
      clearInterval(beat);
    }
  },
});

export type StepToolActivities = ReturnType<typeof createStepToolActivities>;
