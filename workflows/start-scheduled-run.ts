import { proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { ScheduleActivities } from '../activities/schedules.ts';
import type { ScheduledRunArgs, ScheduledRunOutcome } from '../src/temporal/contracts/automation.ts';

/** Tried until the time limit that the schedule gives its firings. */
const local = proxyLocalActivities<ScheduleActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

/**
 * What a workflow's schedule starts at each of its times, and at a trigger or backfill from Temporal's web UI. The time
 * is the one that the firing was due at; a copy that an operator started by hand has its own.
 */
export async function startScheduledRun(args: ScheduledRunArgs): Promise<ScheduledRunOutcome> {
  const { searchAttributes, startTime } = workflowInfo();
  const [dueAt = startTime] = (searchAttributes.TemporalScheduledStartTime ?? []) as Date[];
  return local.fireSchedule(args, dueAt.toISOString());
}
