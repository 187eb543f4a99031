import { isDeepStrictEqual } from 'node:util';
import { ScheduleAlreadyRunning, type ScheduleHandle, type ScheduleOptions } from '@temporalio/client';
import type { Services } from '../src/services.ts';
import type { Priority } from '../src/temporal/contracts/priorities.ts';
import type { Queue } from '../src/temporal/contracts/queues.ts';

/** What the clock or an operator starts. */
export interface WantedSchedule {
  workflowType: string;
  queue: Queue;
  priority: Priority;
  /** Without it only an operator starts it, with the Schedule's Trigger button. */
  everyMs?: number;
  args?: unknown[];
  state?: ScheduleOptions['state'];
}

/** A run that no worker finishes must not keep the next ones from starting. */
const runLimit = '10 minutes';

/**
 * Makes a Schedule, unless it is there. One that is there keeps its pause and the times that an operator gave it; when it
 * starts something else than this version wants, what it starts and its times are replaced.
 */
export async function ensureSchedule(
  { temporal, env }: Pick<Services, 'temporal' | 'env'>,
  { workflowType, queue, priority, everyMs, args = [], state: wantedState }: WantedSchedule,
): Promise<ScheduleHandle> {
  const scheduleId = `${env.TEMPORAL_TASK_QUEUE_PREFIX}${workflowType}`;
  const spec = everyMs === undefined ? {} : { intervals: [{ every: everyMs }] };
  const taskQueue = temporal.taskQueue(queue);
  const action = {
    type: 'startWorkflow',
    workflowType,
    workflowId: scheduleId,
    taskQueue,
    args,
    // A key of its own: it has a turn among the organizations.
    priority: { priorityKey: priority, fairnessKey: workflowType },
    workflowRunTimeout: runLimit,
  } as const;
  const { schedule } = temporal.client;
  try {
    return await schedule.create({
      ...(wantedState && { state: wantedState }),
      scheduleId,
      spec,
      policies: { overlap: 'SKIP', catchupWindow: '1 minute' },
      action,
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  const handle = schedule.getHandle(scheduleId);
  const { action: found } = await handle.describe();
  const isSame = found.taskQueue === taskQueue && found.priority?.priorityKey === priority;
  const isWanted = isSame && isDeepStrictEqual(found.args ?? [], args);
  if (!isWanted) await handle.update((previous) => ({ ...previous, spec, action }));
  return handle;
}

/** Starts its workflow as the Trigger button does, after one that is running; not when an operator paused the Schedule. */
export async function triggerSchedule(handle: ScheduleHandle): Promise<void> {
  const { state } = await handle.describe();
  if (!state.paused) await handle.trigger('BUFFER_ONE');
}
