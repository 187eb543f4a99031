import type { Services } from '../src/services.ts';
import { createEarlierRunActivities } from './earlier-runs.ts';
import { createHousekeepingActivities } from './housekeeping.ts';
import { createPurgeActivities } from './purge.ts';
import { createRunActivities } from './runs.ts';
import { createScheduleActivities } from './schedules.ts';
import { createWebhookActivities } from './webhooks.ts';

/** Everything that workflows may ask for. They see its type alone. */
export function createActivities(services: Services) {
  const runs = createRunActivities(services.database, services, services.runPolicy);
  return {
    ...runs,
    ...createEarlierRunActivities(runs),
    ...createHousekeepingActivities(services),
    ...createPurgeActivities(services.database, services.temporal),
    ...createScheduleActivities(services.database, services),
    // Its workflow names no queue and is served where it runs.
    redrivePage: createWebhookActivities(services).redrivePage,
  };
}

export type Activities = ReturnType<typeof createActivities>;
