import type { EntityManager } from '@mikro-orm/postgresql';
import type { QueryResultRow } from 'pg';
import type { Database } from './database.ts';
import { inTransaction, type Sql, type Statement, sqlOn } from './sql.ts';

export type Environment = 'live' | 'test';

/** Whose data: an organization's live or test half. The two never meet. */
export interface Tenant {
  organizationId: string;
  environment: Environment;
}

/**
 * The only way to tenant-scoped rows. Entities are read through an entity manager whose tenant filter is always on;
 * statements get the tenant bound as $1 (organization) and $2 (environment), and PostgreSQL itself refuses one that
 * forgets them, because it cannot tell the type of a parameter that is never used.
 */
export class Scope {
  readonly tenant: Tenant;
  /** Follows the work into runs, Temporal, events and logs. */
  readonly correlationId: string;
  readonly #database: Database;
  readonly #sql: Sql;
  #em: EntityManager | undefined;

  constructor(database: Database, tenant: Tenant, correlationId: string, sql: Sql = sqlOn(database.pool)) {
    this.#database = database;
    this.tenant = tenant;
    this.correlationId = correlationId;
    this.#sql = sql;
  }

  /** An entity manager of this scope's own, with the tenant filter on. */
  get em(): EntityManager {
    this.#em ??= this.#database.entityManager(this.tenant);
    return this.#em;
  }

  rows<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row[]> {
    return this.#sql.rows(of, [this.tenant.organizationId, this.tenant.environment, ...values]);
  }

  one<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row | undefined> {
    return this.#sql.one(of, [this.tenant.organizationId, this.tenant.environment, ...values]);
  }

  /** One transaction over named statements; `work` gets a scope bound to its connection. */
  transaction<T>(work: (scope: Scope) => Promise<T>): Promise<T> {
    return inTransaction(this.#database.pool, (sql) =>
      work(new Scope(this.#database, this.tenant, this.correlationId, sql)),
    );
  }
}
