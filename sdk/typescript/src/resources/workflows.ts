import type { RequestOptions } from '../core/options.ts';
import { withinTime } from '../core/waiting.ts';
import type { RunDetail, WorkflowExecution } from '../generated/api/types.gen.ts';
import { Workflows as GeneratedWorkflows } from '../generated/resources/workflows.ts';
import { Runs, type RunWaitOptions } from './runs.ts';

export type RunWorkflowOptions = RunWaitOptions & Pick<RequestOptions, 'idempotencyKey'>;

export class Workflows extends GeneratedWorkflows {
  /**
   * Execute a workflow and wait until its run has ended. Returns the run however it ended, or null if none was started
   * because the workflow skips runs above its `concurrency`. `timeoutMs` is the time for both.
   */
  async run(
    id: string,
    execution: Omit<WorkflowExecution, 'async' | 'inputs'> = {},
    { idempotencyKey, ...options }: RunWorkflowOptions = {},
  ): Promise<RunDetail | null> {
    return withinTime(options, async (signal) => {
      const started = await this.execute(id, { ...execution, async: true }, { idempotencyKey, signal });
      if (started.runId === null) return null;
      return new Runs(this.transport).wait(started.runId, { onEvent: options.onEvent, signal });
    });
  }
}
