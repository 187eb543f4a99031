import type { PoolClient } from 'pg';
import { tenantSettings } from './database.ts';
import { AppError } from './errors.ts';
import type { Tenant } from './tenant.ts';

const settings = `select set_config('${tenantSettings.organization}', $1, false),
                         set_config('${tenantSettings.environment}', $2, false)`;

/** The tenant each pooled connection was last assigned to: most often the next one is the same, and nothing is sent. */
const owners = new WeakMap<PoolClient, string>();

/** Sent ahead of the first statement and not waited for: the connection keeps their order. */
export async function assignTenant(client: PoolClient, { organizationId, environment }: Tenant): Promise<void> {
  const owner = `${organizationId}/${environment}`;
  if (owners.get(client) === owner) return;
  owners.delete(client);
  await client.query({ name: 'tenant.assign', text: settings, values: [organizationId, environment] });
  owners.set(client, owner);
}

/**
 * Whether a connection can be used again after this error: PostgreSQL reported it, or a verb refused, and no transaction
 * is left open. After anything else the connection may still be busy with the failed work.
 */
export const isConnectionSound = (client: PoolClient, error: unknown): boolean =>
  (error instanceof AppError || (error instanceof Error && 'severity' in error)) &&
  client.getTransactionStatus() === 'I';
