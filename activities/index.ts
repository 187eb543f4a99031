import type { Services } from '../src/services.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createPurgeActivities } from './purge.ts';
import { createRunActivities } from './runs.ts';

/** Everything that workflows may ask for. They see its type alone. */
export const createActivities = (services: Services) => ({
  ...createRunActivities(services.database, {
    ...services,
    countRunEnd: (status) => services.operations.metrics.runEnded(status),
  }),
  ...createHousekeepingActivities(services),
  ...createPurgeActivities(services.database, services.temporal),
});

export type Activities = ReturnType<typeof createActivities>;
