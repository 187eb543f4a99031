import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { type DisconnectServices, disconnect } from './connections/disconnect.ts';

const findAll = statement({
  name: 'integration_connection.of_tenant',
  row: { integration: 'text' },
  text: `select integration from integration_connection where organization_id = :organizationId
    and environment = :environment`,
});

/** Disconnects the integrations of a tenant. @returns whether some are left */
export async function endIntegrations(services: DisconnectServices, scope: Scope): Promise<boolean> {
  for (const { integration } of await scope.rows(findAll)) await disconnect(services, scope, integration);
  return (await scope.rows(findAll)).length > 0;
}
