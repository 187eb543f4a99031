import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { publishEvent } from '../../webhooks/index.ts';
import { integrationAuthExpired } from '../core/events.ts';
import { followKind, needsSchedule } from '../following/follow-work.ts';
import { missPushed } from '../following/missed-at.ts';

interface Ended {
  id: string;
  integration: string;
}

const byAccess = statement({
  name: 'integration.access_expired',
  parameters: { connectionId: 'uuid' },
  row: { id: 'uuid', integration: 'text' },
  text: `update integration_connection set status = 'auth_expired'
    where organization_id = :organizationId and environment = :environment and connection_id = :connectionId
      and status = 'connected'
   returning id, integration`,
});
const byConnection = statement({
  name: 'integration.connection_expired',
  parameters: { id: 'uuid', connectedAt: 'timestamptz' },
  row: { id: 'uuid', integration: 'text' },
  text: `update integration_connection set status = 'auth_expired'
    where organization_id = :organizationId and environment = :environment and id = :id
      and connected_at = :connectedAt and status = 'connected'
   returning id, integration`,
});

async function publishExpired(tx: Transaction, { id, integration }: Ended): Promise<void> {
  await publishEvent(tx, integrationAuthExpired, null, { integration });
  if (!needsSchedule(tx.tenant, integration)) return;
  await missPushed(tx, id);
  await tx.enqueue(followKind, id);
}

/**
 * Records, in one transaction, the end of the access to an account: the connection changes its status, and webhooks are
 * notified once.
 */
export async function accessExpired(tx: Transaction, connectionId: string): Promise<void> {
  const ended = await tx.one(byAccess, { connectionId });
  if (ended) await publishExpired(tx, ended);
}

/**
 * The same for a connection without tokens of its own, unless it was connected again since.
 * @param connectedAt of the connection whose access was refused
 */
export async function connectionExpired(tx: Transaction, id: string, connectedAt: Date): Promise<void> {
  const ended = await tx.one(byConnection, { id, connectedAt });
  if (ended) await publishExpired(tx, ended);
}
