import { type Client, ScheduleAlreadyRunning } from '@temporalio/client';
import { taskQueueName } from '../src/temporal/client.ts';
import { scheduledWorkflows, workflowTypes } from '../src/temporal/contracts.ts';

/** What is started by the clock, or by an operator's press of a button. */
const wanted = [
  { workflowType: scheduledWorkflows.housekeeping, every: '1 hour' },
  {
    workflowType: workflowTypes.redriveDeadLetters,
    every: '1 day',
    state: { paused: true, note: 'Paused on purpose: its Trigger button replays every dead letter of webhooks.' },
  },
] as const;

/**
 * Makes the schedules that are missing. One that is there stays as it is: its operator may have paused it or changed
 * its times.
 */
export async function ensureSchedules(client: Client, taskQueuePrefix: string): Promise<void> {
  for (const { workflowType, every, ...more } of wanted) {
    const name = `${taskQueuePrefix}${workflowType}`;
    try {
      await client.schedule.create({
        ...more,
        scheduleId: name,
        spec: { intervals: [{ every }] },
        policies: { overlap: 'SKIP', catchupWindow: '1 hour' },
        action: {
          type: 'startWorkflow',
          workflowType,
          workflowId: name,
          taskQueue: taskQueueName(taskQueuePrefix, 'runs'),
          args: [],
        },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }
}
