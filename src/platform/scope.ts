import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, PoolClient, QueryResultRow } from 'pg';
import { type Database, tenantSettings } from './database.ts';
import { type Sql, type Statement, sqlOfManager, sqlOn, transactionOn } from './sql.ts';
import type { Tenant } from './tenant.ts';

/**
 * The only way to tenant-scoped rows, with two walls. Statements get the tenant bound as $1 (organization) and $2
 * (environment), and PostgreSQL refuses one that never names them, because it cannot tell their types; entities are
 * read through a filter that is always on. Behind both, row-level security shows the connection this tenant's rows only.
 */
export class Scope {
  readonly tenant: Tenant;
  /** Follows the work into runs, Temporal, events and logs. */
  readonly correlationId: string;
  /** Who asked, as the audit log names it: a key's id, `operator`, or `system` for work that nobody waits for. */
  readonly actor: string;
  readonly #database: Database;
  readonly #transaction: Sql | undefined;
  #em: EntityManager | undefined;

  constructor(database: Database, tenant: Tenant, correlationId: string, actor = 'system', transaction?: Sql) {
    this.#database = database;
    this.tenant = tenant;
    this.correlationId = correlationId;
    this.actor = actor;
    this.#transaction = transaction;
  }

  /** An entity manager of this scope's own. */
  get em(): EntityManager {
    this.#em ??= this.#database.entityManager(this.tenant);
    return this.#em;
  }

  async rows<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row[]> {
    const bound = [this.tenant.organizationId, this.tenant.environment, ...values];
    if (this.#transaction) return this.#transaction.rows(of, bound);
    return this.#withConnection((client) => sqlOn(client).rows(of, bound));
  }

  async one<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row | undefined> {
    return (await this.rows(of, ...values))[0];
  }

  /** One transaction over named statements; `work` gets a scope bound to its connection. */
  transaction<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    if (this.#transaction) return work(this);
    return this.#withConnection((client) =>
      transactionOn(client, (sql) => work(new Scope(this.#database, this.tenant, this.correlationId, this.actor, sql))),
    );
  }

  /** A scope whose statements run in the transaction that an entity manager of this one is in. */
  inTransactionOf(em: EntityManager): Scope {
    return new Scope(this.#database, this.tenant, this.correlationId, this.actor, sqlOfManager(em));
  }

  /** Lends a connection that is this tenant's. One that failed in a way nobody understands is thrown away. */
  async #withConnection<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    const client = await this.#database.tenantPool.connect();
    try {
      const [, result] = await Promise.all([assignTenant(client, this.tenant), work(client)]);
      client.release();
      return result;
    } catch (error) {
      client.release(isConnectionSound(client, error) ? undefined : true);
      throw error;
    }
  }
}

const settings = `select set_config('${tenantSettings.organization}', $1, false),
                         set_config('${tenantSettings.environment}', $2, false)`;

/** Whose a pooled connection was last: most often the next one is the same tenant's, and nothing is sent. */
const owners = new WeakMap<PoolClient, string>();

/** Sent ahead of the statement and not waited for: the connection keeps their order. */
async function assignTenant(client: PoolClient, { organizationId, environment }: Tenant): Promise<void> {
  const owner = `${organizationId}/${environment}`;
  if (owners.get(client) === owner) return;
  owners.delete(client);
  await client.query({ name: 'tenant.assign', text: settings, values: [organizationId, environment] });
  owners.set(client, owner);
}

/** An error that PostgreSQL itself reported, outside a transaction, leaves a connection as good as it was. */
const isConnectionSound = (client: PoolClient, error: unknown): boolean =>
  error instanceof Error && 'severity' in error && client.getTransactionStatus() === 'I';
