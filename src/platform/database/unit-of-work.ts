import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, QueryResultRow } from 'pg';
import { type Enqueued, enqueuedBy } from '../outbox/enqueue.ts';
import { type AuditRecord, recordAudit } from '../security/audit.ts';
import type { Tenant } from '../tenant.ts';
import type { CountedUse } from './counted-use.ts';
import type { Database } from './database.ts';
import { isConnectionSound } from './pooled-connection.ts';
import { type Sql, type Statement, type SystemArguments, sqlOn, type TenantSql, usedBy, withTenant } from './sql.ts';

/**
 * One transaction on one connection: named statements, entities and audit entries commit together or not at all.
 * Pending changes of the entity manager are written before each statement and before the commit, so that they see each
 * other's changes.
 */
export class UnitOfWork implements Sql {
  readonly enqueued: Enqueued[] = [];
  /** What its statements add to counters, once they are committed. */
  readonly used: CountedUse[] = [];
  readonly #database: Database;
  readonly #client: ClientBase;
  readonly #tenant: Tenant | undefined;
  readonly #depth: number;
  readonly #sql: Sql;
  #em: EntityManager | undefined;
  #isOver = false;

  /** @param tenant of whom entities are read; absent where the transaction belongs to no tenant */
  constructor(database: Database, client: ClientBase, tenant?: Tenant, depth = 0) {
    this.#database = database;
    this.#client = client;
    this.#tenant = tenant;
    this.#depth = depth;
    this.#sql = sqlOn(client);
  }

  /** The entity manager of this transaction, made when it is first needed. Its changes are written by themselves. */
  get em(): EntityManager {
    this.#requireOpen();
    this.#em ??= this.#database.entitiesOn(this.#client, this.#tenant);
    return this.#em;
  }

  async rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: SystemArguments<Values>
  ): Promise<Row[]> {
    this.#requireOpen();
    if (this.#em) await this.#em.flush();
    const rows = await this.#sql.rows(of, ...values);
    if (of.enqueues) this.enqueued.push(...enqueuedBy(of, rows));
    if (of.counts) this.used.push(...usedBy(of, rows, values));
    return rows;
  }

  async one<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: SystemArguments<Values>
  ): Promise<Row | undefined> {
    return (await this.rows(of, ...values))[0];
  }

  /** Statements of one tenant in a transaction that belongs to none. */
  of(tenant: Tenant): TenantSql {
    return {
      tenant,
      rows: (statement, ...values) => this.rows(statement, ...withTenant(tenant, values)),
      one: (statement, ...values) => this.one(statement, ...withTenant(tenant, values)),
    };
  }

  /**
   * Writes an entry to the audit log. To be called last: other transactions of the organization that write one wait from
   * here to the end of this one.
   */
  audit(record: AuditRecord): Promise<void> {
    return recordAudit(this, record);
  }

  /** A transaction within this one: when it fails, it alone is rolled back. Not two at the same time. */
  async nested<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    this.#requireOpen();
    await this.#em?.flush();
    const savepoint = `nested_${this.#depth + 1}`;
    await this.#client.query(`savepoint ${savepoint}`);
    const inner = new UnitOfWork(this.#database, this.#client, this.#tenant, this.#depth + 1);
    try {
      const result = await inner.#complete(work);
      await this.#client.query(`release savepoint ${savepoint}`);
      this.enqueued.push(...inner.enqueued);
      this.used.push(...inner.used);
      return result;
    } catch (error) {
      await this.#client.query(`rollback to savepoint ${savepoint}`).catch(() => {});
      throw error;
    }
  }

  /** Runs `work` in a transaction: committed when it resolves, rolled back when it rejects. */
  async run<T>(work: (unit: UnitOfWork) => Promise<T>, begin = 'begin'): Promise<T> {
    await this.#client.query(begin);
    try {
      const result = await this.#complete(work);
      // PostgreSQL answers the commit of a transaction in which a statement failed with a rollback, and no error.
      const { command } = await this.#client.query('commit');
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back, because a statement in it failed.');
      return result;
    } catch (error) {
      // A failed one leaves the connection in a transaction, and its pool discards it.
      await this.#client.query('rollback').catch(() => {});
      throw error;
    }
  }

  async #complete<T>(work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
    try {
      const result = await work(this);
      await this.#em?.flush();
      return result;
    } finally {
      this.#isOver = true;
    }
  }

  #requireOpen(): void {
    if (this.#isOver) throw new Error('The transaction is over.');
  }
}

/**
 * A transaction that belongs to no tenant, in the role `system`: operators' commands on organizations and keys, and
 * work across tenants. Statements get all their values explicitly; entities are filtered by tenant only on request.
 */
export const systemTransaction = <T>(database: Database, work: (unit: UnitOfWork) => Promise<T>): Promise<T> =>
  runInSystem(database, work, 'begin');

/** Statements that belong to no tenant and see the database as it was at one moment, however many they are. */
export const systemSnapshot = <T>(database: Database, work: (sql: Sql) => Promise<T>): Promise<T> =>
  runInSystem(database, work, 'begin isolation level repeatable read, read only');

async function runInSystem<T>(database: Database, work: (unit: UnitOfWork) => Promise<T>, begin: string): Promise<T> {
  const client = await database.pool.connect();
  try {
    const result = await new UnitOfWork(database, client).run(work, begin);
    client.release();
    return result;
  } catch (error) {
    client.release(isConnectionSound(client, error) ? undefined : true);
    throw error;
  }
}
