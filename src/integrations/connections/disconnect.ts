import { LockMode } from '@mikro-orm/postgresql';
import type { ConnectionServices } from '../../connections/index.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import { IntegrationConnection } from '../entities.ts';
import { notConnected } from '../errors.ts';
import { endSubscriptions } from '../following/end-subscriptions.ts';
import { forgetFollowed } from '../following/follow-work.ts';
import type { Integrations } from '../integrations.ts';
import { getIntegration } from './connect.ts';
import { forgetAccount } from './forget-account.ts';

export interface DisconnectServices extends Pick<ConnectionServices, 'connections'> {
  database: Database;
  integrations: Integrations;
  log: Log;
}

/**
 * Disconnects an account: removes its connection at once, and revokes the access at the provider, best effort within five
 * seconds. Webhooks of the integration stay, but receive nothing until it is connected again.
 * @returns the message for the caller. @throws AppError integration_not_found, not_connected
 */
export async function disconnect(services: DisconnectServices, scope: Scope, integrationId: string): Promise<string> {
  const { id, name } = getIntegration(integrationId);
  const { connections, integrations } = services;
  const connected = await integrations.findConnection(scope, id);
  if (connected) await endSubscriptions(services, scope, connected);
  const { grant, accountId } = await scope.transaction(async (tx) => {
    await lockForTransaction(tx, `integration ${id}`);
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
    const known = await tx.em.findOne(IntegrationConnection, { integration: id }, lock);
    if (!known) throw notConnected(id);
    tx.em.remove(known);
    await forgetFollowed(tx, id, known.id);
    const detached = known.connectionId ? await connections.detach(tx, known.connectionId) : undefined;
    await tx.audit({ action: 'integration.disconnect', subjectId: known.id, facts: { integration: id } });
    return { grant: detached, accountId: known.accountId };
  });
  if (grant) await connections.revokeGrant(grant);
  else await forgetAccount(services, scope, id, accountId);
  return `${name} was disconnected.`;
}
