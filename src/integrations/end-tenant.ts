import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { type DisconnectServices, disconnect } from './disconnect.ts';

const findAll = statement<{ integration: string }>(
  'integration_connection.of_tenant',
  'select integration from integration_connection where organization_id = $1 and environment = $2',
);

/** Disconnects the integrations of a tenant. @returns whether some are left */
export async function endIntegrations(services: DisconnectServices, scope: Scope): Promise<boolean> {
  for (const { integration } of await scope.rows(findAll)) await disconnect(services, scope, integration);
  return (await scope.rows(findAll)).length > 0;
}
