import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  type FetchEventsPolicy,
  fetchEventsMessages,
  fetchEventsWorkflowId,
  integrationEventWorkflows,
} from '../../temporal/contracts/integration-events.ts';
import { actionPriorities } from '../../temporal/contracts/priorities.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';

interface StartServices {
  temporal: TemporalClient;
  fetchEventsPolicy: FetchEventsPolicy;
}

const find = statement({
  name: 'integration.connection_of_events',
  parameters: { connectionId: 'uuid' },
  row: { integrationId: 'text', plan: typed<PlanName>('text') },
  text: `select c.integration as "integrationId", o.plan
     from integration_connection c join organization o on o.id = c.organization_id
    where c.organization_id = :organizationId and c.environment = :environment and c.id = :connectionId`,
});

/** Lets the workflow of a connection look at events that wait for their data, and starts it if it is not open. */
export async function startFetching(
  { temporal, fetchEventsPolicy: policy }: StartServices,
  scope: Scope,
  connectionId: string,
): Promise<void> {
  const found = await scope.one(find, { connectionId });
  if (!found) return;
  const { tenant, correlationId } = scope;
  const { integrationId, plan } = found;
  await temporal.signalWithStart(fetchEventsMessages.wake, {
    type: integrationEventWorkflows.fetchEvents,
    workflowId: fetchEventsWorkflowId(connectionId),
    queue: queues.integrations,
    // As actions: neither waits behind a burst of the other.
    priority: actionPriorities.now.normal,
    args: { ...tenant, correlationId, integrationId, connectionId, policy },
    resourceId: connectionId,
    summary: `events of ${integrationId}`,
    fairness: fairnessOf(tenant, plan),
  });
}
