import { type FetchServices, fetchNext } from '../src/integrations/inbound/fetch-events.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { FetchEventsArgs, FetchEventsProgress } from '../src/temporal/contracts/integration-events.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';

const heartbeatMs = 1_000;

type FetchEventsRef = Omit<FetchEventsArgs, 'policy'> & { requestMs: number };

interface EventActivityServices extends FetchServices {
  database: Database;
}

export const createIntegrationEventActivities = ({ database, ...services }: EventActivityServices) => ({
  /** Fetches the data of the next events of a connection, and publishes them. */
  async fetchNextEvents({ requestMs: timeoutMs, ...ref }: FetchEventsRef): Promise<FetchEventsProgress> {
    return withHeartbeats(heartbeatMs, (signal) =>
      fetchNext(services, scopeOf(database, ref), ref, { signal, timeoutMs }),
    );
  },
});

export type IntegrationEventActivities = ReturnType<typeof createIntegrationEventActivities>;
