import type { Database } from '../../platform/database.ts';
import { sqlOn, statement } from '../../platform/sql.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';

/** A connection to an account that sends events. */
export interface EventsConnection extends Tenant {
  id: string;
  accountId: string;
  environment: Environment;
  /** In the sandbox alone. */
  sealedSandboxSecret: string | null;
}

const columns = `id, account_id as "accountId", organization_id as "organizationId", environment,
  sealed_sandbox_secret as "sealedSandboxSecret"`;

// Events say of which account they are, and not of which tenant: several may have connected the same one.
const findByAccount = statement<EventsConnection>(
  'integration.connections_of_accounts',
  `select ${columns} from integration_connection
    where integration = $1 and account_id = any($2) and environment = $3 order by id limit $4`,
);

const findById = statement<EventsConnection>(
  'integration.connections_by_id',
  `select ${columns} from integration_connection where integration = $1 and id = any($2::uuid[]) order by id`,
);

// PostgreSQL stores no NUL, and would refuse the whole query: no account is named so.
const canBeStored = (accountId: string) => !accountId.includes('\0');

/** The connections of these accounts, which a request may name at will; `limit` at most. */
export const connectionsOf = (
  database: Database,
  ...[integrationId, accountIds, environment, limit]: [string, readonly string[], Environment, number]
): Promise<EventsConnection[]> =>
  sqlOn(database.pool).rows(findByAccount, [integrationId, accountIds.filter(canBeStored), environment, limit]);

/** @param ids uuids */
export const connectionsById = (
  database: Database,
  integrationId: string,
  ids: readonly string[],
): Promise<EventsConnection[]> => sqlOn(database.pool).rows(findById, [integrationId, ids]);
