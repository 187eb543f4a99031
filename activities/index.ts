import type { Services } from '../src/services.ts';
import { createEarlierRunActivities } from './earlier-runs.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createPurgeActivities } from './purge.ts';
import { createRunActivities } from './runs.ts';
import { createScheduleActivities } from './schedules.ts';

/** Everything that workflows may ask for. They see its type alone. */
export function createActivities(services: Services) {
  const runs = createRunActivities(services.database, services, services.runPolicy);
  return {
    ...runs,
    ...createEarlierRunActivities(runs),
    ...createHousekeepingActivities(services),
    ...createPurgeActivities(services.database, services.temporal),
    ...createScheduleActivities(services.database, services),
  };
}

export type Activities = ReturnType<typeof createActivities>;
