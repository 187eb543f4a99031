import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import {
  type FollowIntegrationArgs,
  type FollowPolicy,
  followLimitMs,
  followScheduleId,
  followWorkflows,
} from '../../temporal/contracts/followed-integrations.ts';
import { queues } from '../../temporal/contracts/queues.ts';
import { everyFor, keepSchedule, restoreSchedules, triggerSchedule } from '../../temporal/schedules.ts';
import { isDeleted, isKept } from '../../tenancy/index.ts';
import { catalog, findIntegration } from '../catalog.ts';
import { type Connected, findConnectionById } from '../connections/find-connection.ts';
import { followKind, isFollowed, needsSchedule } from './follow-work.ts';

export interface FollowScheduleServices {
  temporal: TemporalClient;
  followPolicy: FollowPolicy;
}

/** Seconds between two checks of subscriptions, which last for days. */
const pushEverySeconds = 300;

const everyMsOf = ({ integrationId }: Connected) =>
  1_000 * (findIntegration(integrationId)?.poll?.everySeconds ?? pushEverySeconds);

/**
 * Updates the Temporal Schedule of a polled connection from its row: it exists while the row does and the organization is not deleted, and is paused while there is
 * no access. Safe to repeat. An operator's pause stays.
 * @param run whether a run is to start now
 */
export async function followSchedule(
  { temporal, followPolicy: policy }: FollowScheduleServices,
  scope: Scope,
  connectionId: string,
  { run }: { run: boolean },
): Promise<void> {
  const { tenant } = scope;
  const id = followScheduleId(connectionId);
  const args: FollowIntegrationArgs = {
    organizationId: tenant.organizationId,
    environment: tenant.environment,
    connectionId,
    policy,
  };
  const kept = await keepSchedule(temporal, id, async () => {
    if (await isDeleted(scope)) return undefined;
    const connected = await findConnectionById(scope, connectionId);
    if (!connected || !needsSchedule(tenant, connected.integrationId)) return undefined;
    return everyFor({
      id,
      row: { tenant, id: connectionId },
      everyMs: everyMsOf(connected),
      workflowType: followWorkflows.followIntegration,
      queue: queues.integrations,
      args,
      maxRunMs: followLimitMs,
      paused: connected.status !== 'connected',
      pauseNote: 'The account cannot be accessed. Polling continues when the integration is connected again.',
      resumeNote: 'The integration was connected again.',
    });
  });
  if (run && kept && !kept.wanted.paused) await triggerSchedule(temporal, id);
}

interface ConnectionRow extends Tenant {
  id: string;
}

// Reads in the order of the primary key, page by page. A Schedule whose change is still in the outbox is left to it.
const connectionsAfter = systemStatement({
  name: 'integration.followed_page',
  parameters: { after: 'uuid', limit: 'int', followed: 'text[]' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select c.id, c.organization_id as "organizationId", c.environment from integration_connection c
    where c.id > :after and c.environment = 'live' and c.integration = any(:followed) and ${isKept('c.organization_id')}
      and not exists (select from outbox where kind = '${followKind}' and subject_id = c.id)
    order by c.id limit :limit`,
});

/** Creates again the Schedules that an operator deleted. Across all tenants, and safe to call concurrently. */
export function restoreFollowSchedules(database: Database, services: FollowScheduleServices): Promise<ConnectionRow[]> {
  const followed = catalog.filter(isFollowed).map(({ id }) => id);
  return restoreSchedules(services.temporal, {
    idOf: followScheduleId,
    page: (after, limit) => sqlOn(database.pool).rows(connectionsAfter, { after, limit, followed }),
    restore: ({ id, ...tenant }) =>
      followSchedule(services, new Scope(database, tenant, followScheduleId(id)), id, { run: false }),
  });
}
