import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { IntegrationStatus } from './core/connection-status.ts';
import type { Account } from './provider-call.ts';

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
}

interface Row extends Omit<Connected, 'account'> {
  accountId: string;
  accountName: string;
  details: Record<string, string>;
}

const columns = `id, integration as "integrationId", account_id as "accountId", account_name as "accountName", details,
  status, connection_id as "connectionId", connected_at as "connectedAt", sealed_sandbox_secret as "sealedSandboxSecret"`;

const find = statement<Row>(
  'integration.find_connection',
  `select ${columns} from integration_connection where organization_id = $1 and environment = $2 and integration = $3`,
  { sharesConnection: true },
);
const findById = statement<Row>(
  'integration.connection_by_id',
  `select ${columns} from integration_connection where organization_id = $1 and environment = $2 and id = $3`,
);
const list = statement<Row>(
  'integration.list_connections',
  `select ${columns} from integration_connection where organization_id = $1 and environment = $2`,
);

const connectedOf = ({ accountId: id, accountName: name, details, ...row }: Row): Connected => ({
  ...row,
  account: { id, name, details },
});

export async function findConnection(scope: Scope, integrationId: string): Promise<Connected | undefined> {
  const row = await scope.one(find, integrationId);
  return row && connectedOf(row);
}

/** @param id uuid */
export async function findConnectionById(scope: Scope, id: string): Promise<Connected | undefined> {
  const row = await scope.one(findById, id);
  return row && connectedOf(row);
}

export const listConnections = async (scope: Scope): Promise<Connected[]> => (await scope.rows(list)).map(connectedOf);
