import type { Client } from '@temporalio/client';
import type { Database } from '../../src/platform/database/database.ts';
import { followScheduleId } from '../../src/temporal/contracts/followed-integrations.ts';
import { apiClient } from '../api-client.ts';
import { addConnection } from '../integrations/connection-rows.ts';
import type { Tenant } from '../product.ts';
import { until } from '../until.ts';

/** A connection whose events are to be asked for, of a client that was taken away. */
export async function recordFollowed(
  { api, database, schedule }: { api: string; database: Database; schedule: Client['schedule'] },
  { organizationId, liveKey }: Tenant,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const connectionId = await addConnection(database, {
    organizationId,
    environment: 'live',
    integration: 'salesforce',
    accountId: '00Dx0000000BV7z',
  });
  const given = { event: 'contact_created', url: 'https://hooks.example.com/salesforce' };
  await apiClient(api, liveKey).post('/v1/integrations/salesforce/webhooks', given);
  const handle = schedule.getHandle(followScheduleId(connectionId));
  const started = await until('the run starts', async () =>
    handle.describe().then(
      ({ info }) => info.recentActions[0]?.action,
      () => undefined,
    ),
  );
  await keep('followIntegration/without-a-client', started.workflow.workflowId);
  await handle.delete();
}
