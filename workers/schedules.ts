import { type Client, ScheduleAlreadyRunning } from '@temporalio/client';
import { taskQueueName } from '../src/temporal/client.ts';
import { scheduledWorkflows } from '../src/temporal/contracts.ts';

/**
 * Makes the schedules that are missing. One that is there stays as it is: its operator may have paused it or changed
 * its times.
 */
export async function ensureSchedules(client: Client, taskQueuePrefix: string): Promise<void> {
  const name = `${taskQueuePrefix}${scheduledWorkflows.housekeeping}`;
  try {
    await client.schedule.create({
      scheduleId: name,
      spec: { intervals: [{ every: '1 hour' }] },
      policies: { overlap: 'SKIP', catchupWindow: '1 hour' },
      action: {
        type: 'startWorkflow',
        workflowType: scheduledWorkflows.housekeeping,
        workflowId: name,
        taskQueue: taskQueueName(taskQueuePrefix, 'runs'),
        args: [],
      },
    });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
}
