import { type FireServices, fireSchedule, firingName } from '../src/automation/schedules/fire-schedule.ts';
import type { ScheduledRunArgs, ScheduledRunOutcome } from '../src/temporal/contracts/automation.ts';
import { scopeOf } from './activity-context.ts';

export const createScheduleActivities = (services: FireServices) => ({
  /** @param dueAt ISO 8601 */
  fireSchedule(args: ScheduledRunArgs, dueAt: string): Promise<ScheduledRunOutcome> {
    const time = new Date(dueAt);
    const correlationId = firingName(args.automationId, time);
    return fireSchedule(services, scopeOf(services.database, { ...args, correlationId }), args, time);
  },
});

export type ScheduleActivities = ReturnType<typeof createScheduleActivities>;
