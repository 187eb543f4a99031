import { proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules.ts';
import type { ScheduledRunArgs, ScheduledRunOutcome } from '../src/temporal/contracts/automation.ts';

/** Retried until the execution time-out that the Schedule sets. */
const local = proxyLocalActivities<ScheduleActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/**
 * Started by a workflow's Schedule at each of its times, and by a trigger or backfill in Temporal's web UI. The time of
 * the run is the time at which it was due; a run that an operator starts by hand is due at its start.
 */
export async function startScheduledRun(args: ScheduledRunArgs): Promise<ScheduledRunOutcome> {
  const { searchAttributes, startTime } = workflowInfo();
  const [dueAt = startTime] = (searchAttributes.TemporalScheduledStartTime ?? []) as Date[];
  return local.fireSchedule(args, dueAt.toISOString());
}
