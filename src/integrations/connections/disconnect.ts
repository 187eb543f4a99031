import type { ConnectionServices } from '../../connections/index.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import { IntegrationConnection } from '../entities.ts';
import { notConnected } from '../errors.ts';
import { endForgotten, endingLimit, endSubscriptions } from '../following/end-subscriptions.ts';
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
  const limit = endingLimit();
  if (connected) await endSubscriptions(services, scope, connected, limit);
  const { grant, account, subscriptionIds } = await scope.transaction(async (tx) => {
    await lockForTransaction(tx, `integration ${id}`);
    const known = await tx.em.findOne(IntegrationConnection, { integration: id });
    if (!known) throw notConnected(id);
    // First, as where access ends: a transaction that locked the connection before its tokens could block that one for ever.
    const detached = known.connectionId ? await connections.detach(tx, known.connectionId) : undefined;
    tx.em.remove(known);
    const forgotten = await forgetFollowed(tx, id, known.id);
    await tx.audit({ action: 'integration.disconnect', subjectId: known.id, facts: { integration: id } });
    const { accountId, accountName, details } = known;
    return { grant: detached, account: { id: accountId, name: accountName, details }, subscriptionIds: forgotten };
  });
  const accessToken = grant?.accessToken;
  await endForgotten(services, { integrationId: id, account, accessToken, subscriptionIds }, limit);
  if (grant) await connections.revokeGrant(grant);
  else await forgetAccount(services, scope, id, account.id);
  return `${name} was disconnected.`;
}
