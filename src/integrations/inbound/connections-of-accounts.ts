import { Batcher, retryIndividually } from '../../platform/batcher.ts';
import type { Database } from '../../platform/database.ts';
import { sqlOn, statement } from '../../platform/sql.ts';
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

// Events name an account and not a tenant: several tenants may have connected the same account.
const findByAccount = statement<EventsConnection>(
  'integration.connections_of_accounts',
  `select ${columns} from integration_connection
    where integration = $1 and account_id = any($2) and environment = $3 and ${isKept('organization_id')} order by id limit $4`,
);

const findOfEach = statement<EventsConnection>(
  'integration.connections_of_each_account',
  `select c.* from unnest($2::text[]) as asked(account) cross join lateral (
     select ${columns} from integration_connection
      where integration = $1 and account_id = asked.account and environment = 'live' and ${isKept('organization_id')}
      order by id limit $3) c`,
);

const findById = statement<EventsConnection>(
  'integration.connections_by_id',
  `select ${columns} from integration_connection
    where integration = $1 and id = any($2::uuid[]) and ${isKept('organization_id')} order by id`,
);

// PostgreSQL does not accept NUL and would refuse the whole query. No account has such a name.
const canBeStored = (accountId: string) => !accountId.includes('\0');

/** The connections of these accounts, which an unverified request names; `limit` at most. */
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
    const found = await sqlOn(this.#database.pool).rows(findOfEach, [integrationId, accounts, maxConnections]);
    const ofAccount = Map.groupBy(found, ({ accountId }) => accountId);
    return asked.map((accountId) => ofAccount.get(accountId) ?? []);
  }
}
