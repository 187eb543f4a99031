import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Account } from '../calls/provider-call.ts';
import type { IntegrationStatus } from '../core/connection-status.ts';

/** An integration that a tenant connected. */
export interface Connected {
  /** UUID. An account that is connected again keeps it; another account has another one. */
  id: string;
  integrationId: string;
  account: Account;
  status: IntegrationStatus;
  /** The connection that has its tokens; null where the client's API key replaces them. */
  connectionId: string | null;
  connectedAt: Date;
  /** Sealed; null for live keys, and where the provider sends no events. */
  sealedSandboxSecret: string | null;
  /** Why the latest run that fetched its events, or kept its subscriptions, failed. */
  eventsError: string | null;
}

interface Row extends Omit<Connected, 'account'> {
  accountId: string;
  accountName: string;
  details: Record<string, string>;
}

const columns = `id, integration as "integrationId", account_id as "accountId", account_name as "accountName", details,
  status, connection_id as "connectionId", connected_at as "connectedAt", sealed_sandbox_secret as "sealedSandboxSecret",
  events_error as "eventsError"`;

const rowColumns = {
  id: 'uuid',
  integrationId: 'text',
  accountId: 'text',
  accountName: 'text',
  details: typed<Record<string, string>>('json'),
  status: typed<IntegrationStatus>('text'),
  connectionId: 'uuid?',
  connectedAt: 'timestamptz',
  sealedSandboxSecret: 'text?',
  eventsError: 'text?',
} as const;

const find = statement({
  name: 'integration.find_connection',
  parameters: { integrationId: 'text' },
  row: rowColumns,
  text: `select ${columns} from integration_connection where organization_id = :organizationId
    and environment = :environment and integration = :integrationId`,
  sharesConnection: true,
});
const findById = statement({
  name: 'integration.connection_by_id',
  parameters: { id: 'uuid' },
  row: rowColumns,
  text: `select ${columns} from integration_connection where organization_id = :organizationId
    and environment = :environment and id = :id`,
});
const list = statement({
  name: 'integration.list_connections',
  row: rowColumns,
  text: `select ${columns} from integration_connection where organization_id = :organizationId
    and environment = :environment`,
});

const connectedOf = ({ accountId: id, accountName: name, details, ...row }: Row): Connected => ({
  ...row,
  account: { id, name, details },
});

export async function findConnection(scope: Scope, integrationId: string): Promise<Connected | undefined> {
  const row = await scope.one(find, { integrationId });
  return row && connectedOf(row);
}

/** @param id uuid */
export async function findConnectionById(scope: Scope, id: string): Promise<Connected | undefined> {
  const row = await scope.one(findById, { id });
  return row && connectedOf(row);
}

export const listConnections = async (scope: Scope): Promise<Connected[]> => (await scope.rows(list)).map(connectedOf);
