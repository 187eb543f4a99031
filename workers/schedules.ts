import { type Client, ScheduleAlreadyRunning } from '@temporalio/client';
import { housekeepingWorkflows } from '../src/temporal/contracts/housekeeping.ts';
import { queues, taskQueueName } from '../src/temporal/contracts/queues.ts';
import { webhookWorkflows } from '../src/temporal/contracts/webhooks.ts';

/** What is started by the clock, or by an operator's press of a button. */
const wanted = [
  { workflowType: housekeepingWorkflows.housekeeping, every: '1 hour' },
  {
    workflowType: webhookWorkflows.redriveDeadLetters,
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
          taskQueue: taskQueueName(taskQueuePrefix, queues.runs),
          args: [],
        },
      });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    }
  }
}
