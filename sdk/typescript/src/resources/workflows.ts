import type { RequestOptions } from '../core/options.ts';
import type { RunDetail, WorkflowExecution } from '../generated/api/types.gen.ts';
import { Workflows as GeneratedWorkflows } from '../generated/resources/workflows.ts';
import { Runs, type RunWaitOptions } from './runs.ts';

export type RunWorkflowOptions = RunWaitOptions & Pick<RequestOptions, 'idempotencyKey'>;

export class Workflows extends GeneratedWorkflows {
  /**
   * Execute a workflow and wait until its run has ended. Returns the run however it ended, or null if none was started
   * because the workflow skips runs above its `concurrency`.
   */
  async run(
    id: string,
    execution: Omit<WorkflowExecution, 'async' | 'inputs'> = {},
    { idempotencyKey, ...options }: RunWorkflowOptions = {},
  ): Promise<RunDetail | null> {
    const startedAt = Date.now();
    const started = await this.execute(id, { ...execution, async: true }, { idempotencyKey, signal: options.signal });
    if (started.runId === null) return null;
    const { timeoutMs } = options;
    const left = timeoutMs === undefined ? {} : { timeoutMs: Math.max(0, timeoutMs - (Date.now() - startedAt)) };
    return new Runs(this.transport).wait(started.runId, { ...options, ...left });
  }
}
