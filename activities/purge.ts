import { cancelRunsInFlight, purgeSome } from '../src/automation/runs/purge.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { TemporalClient } from '../src/temporal/client.ts';
import type { PurgeAutomationArgs } from '../src/temporal/contracts/automation.ts';
import { scopeOf } from './activity-context.ts';

export interface PurgeServices {
  database: Database;
  temporal: TemporalClient;
}

export const createPurgeActivities = ({ database, temporal }: PurgeServices) => ({
  /** @returns whether there may be more */
  cancelRunsInFlight(purge: PurgeAutomationArgs): Promise<boolean> {
    return cancelRunsInFlight(temporal, scopeOf(database, purge), purge.automationId);
  },

  /** @returns whether there is more */
  purgeSome(purge: PurgeAutomationArgs): Promise<boolean> {
    return purgeSome(scopeOf(database, purge), purge.automationId);
  },
});

export type PurgeActivities = ReturnType<typeof createPurgeActivities>;
