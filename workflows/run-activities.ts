import { proxyActivities, workflowInfo } from '@temporalio/workflow';
import type { StepToolActivities } from '../activities/step-tools.ts';
import type { RunPolicy } from '../src/temporal/contracts/automation.ts';
import { besideQueue, queues } from '../src/temporal/contracts/queues.ts';
import { retryWithoutLimit } from './retry-options.ts';

/** Options of database work and of steps that answer at once: local activities, which need no task of their own. */
export const instantWork = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '100 milliseconds', maximumInterval: '2 seconds', maximumAttempts: 5 },
} as const;

/**
 * Options of calls that leave the process and take time. Retried without limit: the step's row counts how often its model was
 * called, so a database that is down for an hour delays a run and does not fail it.
 * @param beginForMs how long steps may begin. The last one that begins has the whole time of a step.
 */
export const callingWork = (
  { modelCall: { timeoutMs, heartbeatTimeoutMs, retry } }: RunPolicy,
  beginForMs: number,
) => ({
  startToCloseTimeout: timeoutMs + beginForMs,
  heartbeatTimeout: heartbeatTimeoutMs,
  retry: retryWithoutLimit(retry),
});

/**
 * Work with tools, on the process that has the files of their servers. The rows record the calls, so a retry calls
 * nothing twice.
 */
export const toolWork = (policy: RunPolicy) =>
  proxyActivities<StepToolActivities>({
    ...callingWork(policy, 0),
    taskQueue: besideQueue(workflowInfo().taskQueue, queues.runs, queues.generation),
  });
