import { Batcher, retryIndividually } from '../../platform/concurrency/batcher.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { isKept } from '../../tenancy/index.ts';
import type { IntegrationStatus } from '../core/connection-status.ts';

/** A connection to an account that sends events. */
export interface EventsConnection extends Tenant {
  id: string;
  accountId: string;
  environment: Environment;
  status: IntegrationStatus;
  /** In the sandbox alone. */
  sealedSandboxSecret: string | null;
}

const columns = `id, account_id as "accountId", organization_id as "organizationId", environment, status,
  sealed_sandbox_secret as "sealedSandboxSecret"`;

const eventsConnectionColumns = {
  id: 'uuid',
  accountId: 'text',
  organizationId: 'uuid',
  environment: typed<Environment>('text'),
  status: typed<IntegrationStatus>('text'),
  sealedSandboxSecret: 'text?',
} as const;

// Events name an account and not a tenant: several tenants may have connected the same account.
const findByAccount = systemStatement({
  name: 'integration.connections_of_accounts',
  parameters: { integrationId: 'text', accountIds: 'text[]', environment: 'text', limit: 'int' },
  row: eventsConnectionColumns,
  text: `select ${columns} from integration_connection
    where integration = :integrationId and account_id = any(:accountIds) and environment = :environment
      and ${isKept('organization_id')} order by id limit :limit`,
});

const findOfEach = systemStatement({
  name: 'integration.connections_of_each_account',
  parameters: { integrationId: 'text', accounts: 'text[]', maxConnections: 'int' },
  row: eventsConnectionColumns,
  text: `select c.* from unnest(:accounts) as asked(account) cross join lateral (
     select ${columns} from integration_connection
      where integration = :integrationId and account_id = asked.account and environment = 'live'
        and ${isKept('organization_id')}
      order by id limit :maxConnections) c`,
});

const findById = systemStatement({
  name: 'integration.connections_by_id',
  parameters: { integrationId: 'text', ids: 'uuid[]' },
  row: eventsConnectionColumns,
  text: `select ${columns} from integration_connection
    where integration = :integrationId and id = any(:ids) and ${isKept('organization_id')} order by id`,
});

// PostgreSQL does not accept NUL and would refuse the whole query. No account has such a name.
const canBeStored = (accountId: string) => !accountId.includes('\0');

/** The connections of these accounts, which an unverified request names; `limit` at most. */
export const connectionsOf = (
  database: Database,
  ...[integrationId, accountIds, environment, limit]: [string, readonly string[], Environment, number]
): Promise<EventsConnection[]> =>
  sqlOn(database.pool).rows(findByAccount, {
    integrationId,
    accountIds: accountIds.filter(canBeStored),
    environment,
    limit,
  });

/** @param ids uuids */
export const connectionsById = (
  database: Database,
  integrationId: string,
  ids: readonly string[],
): Promise<EventsConnection[]> => sqlOn(database.pool).rows(findById, { integrationId, ids });

/** Connections to one account that events are published for. */
const maxConnections = 10_000;

/** Finds the connections of live keys to the accounts that events name, for several requests in one statement. */
export class LiveConnections {
  readonly #database: Database;
  readonly #gathered = new Batcher<string, readonly EventsConnection[]>({
    maxConcurrent: 2,
    weightOf: () => 1 / 100,
  });

  constructor(database: Database) {
    this.#database = database;
  }

  /** @returns at most 10,000 for one account, and for several together */
  async find(integrationId: string, accountIds: readonly string[]): Promise<readonly EventsConnection[]> {
    const [accountId, ...others] = accountIds;
    if (accountId === undefined) return [];
    // Most requests name one account.
    if (others.length > 0) return connectionsOf(this.#database, integrationId, accountIds, 'live', maxConnections);
    const findAll = (all: readonly string[]) => this.#findOfEach(integrationId, all);
    return this.#gathered.run(integrationId, accountId, (all) => retryIndividually(all, findAll));
  }

  async #findOfEach(integrationId: string, asked: readonly string[]): Promise<(readonly EventsConnection[])[]> {
    const accounts = [...new Set(asked)].filter(canBeStored);
    const found = await sqlOn(this.#database.pool).rows(findOfEach, { integrationId, accounts, maxConnections });
    const ofAccount = Map.groupBy(found, ({ accountId }) => accountId);
    return asked.map((accountId) => ofAccount.get(accountId) ?? []);
  }
}
