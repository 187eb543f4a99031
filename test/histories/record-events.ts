import { ClientStates } from '../../src/integrations/inbound/client-states.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { fetchEventsWorkflowId } from '../../src/temporal/contracts/integration-events.ts';
import { apiClient } from '../api-client.ts';
import { addConnection } from '../integrations/connection-rows.ts';
import { providerEvents } from '../integrations/provider-events.ts';
import { secrets } from '../operator.ts';
import type { Tenant } from '../product.ts';

const { teams } = providerEvents;

/** Events whose data have to be fetched, for a connection that has no tokens any more. */
export async function recordEvents(
  api: string,
  database: Database,
  { organizationId, liveKey }: Tenant,
  keep: (name: string, workflowId: string) => Promise<void>,
): Promise<void> {
  const accountId = '84bd8158-6d4d-4958-8b9f-9d6445542f95';
  const connectionId = await addConnection(database, {
    organizationId,
    environment: 'live',
    integration: 'microsoft-teams',
    accountId,
  });
  const given = { event: 'message_received', url: 'https://hooks.example.com/teams' };
  await apiClient(api, liveKey).post('/v1/integrations/microsoft-teams/webhooks', given);
  const state = new ClientStates(secrets.URL_SIGNING_KEY).of(connectionId)!;
  const { body, headers } = teams.notify(teams.message(accountId, state, '1616963377068'));
  await apiClient(api).post('/v1/integrations/microsoft-teams/events', body, headers);
  await keep('fetchEvents/without-access', fetchEventsWorkflowId(connectionId));
}
