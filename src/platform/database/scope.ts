import type { EntityManager } from '@mikro-orm/postgresql';
import type { ClientBase, PoolClient, QueryResultRow } from 'pg';
import { LockHeld, TransactionLocks } from '../concurrency/local-locks.ts';
import { type Enqueued, enqueue, enqueuedBy } from '../outbox/enqueue.ts';
import {
  type AuditAuthor,
  auditValues,
  type RequestOrigin,
  recordAudit,
  type TenantAuditRecord,
} from '../security/audit.ts';
import type { EnvironmentKey, TenantKey } from '../security/tenant-key.ts';
import type { Environment, Tenant } from '../tenant.ts';
import type { CountedUse } from './counted-use.ts';
import type { Database } from './database.ts';
import { type ClaimOptions, claimLock, type Once, once } from './idempotency.ts';
import { assignTenant, isConnectionSound } from './pooled-connection.ts';
import { type Statement, sqlOn, type TenantArguments, type TenantSql, usedBy, withTenant } from './sql.ts';
import { UnitOfWork } from './unit-of-work.ts';

/**
 * The only access to tenant-scoped rows, protected twice. Statements get the tenant bound as `:organizationId` and
 * `:environment`, and a statement that does not name both is refused when it is defined; entities are read through a
 * filter that is always on. Row-level security limits the connection to this tenant's rows in any case.
 */
export class Scope implements TenantSql {
  readonly tenant: Tenant;
  /** Recorded in runs, Temporal, events and logs. */
  readonly correlationId: string;
  /** The actor, as the audit log names it: a key's id, `operator`, or `system` for background work. */
  readonly actor: string;
  /** The request of the actor; absent if the work continues without one. */
  readonly origin: RequestOrigin | undefined;
  readonly #database: Database;
  #hints: Map<string, unknown> | undefined;
  /** How long work of this scope tries again to get a connection. */
  protected readonly patienceMs: number = 0;

  constructor(
    database: Database,
    tenant: Tenant,
    correlationId: string,
    actor = 'system',
    origin: RequestOrigin | undefined = undefined,
  ) {
    this.#database = database;
    this.tenant = tenant;
    this.correlationId = correlationId;
    this.actor = actor;
    this.origin = origin;
  }

  /** The actor, as the audit log names it. */
  get author(): AuditAuthor & { environment: Environment } {
    const { tenant, actor, correlationId, origin } = this;
    return { environment: tenant.environment, actor, correlationId, ...(origin && { origin }) };
  }

  /** The organization, as pools know it that organizations share. */
  get tenantKey(): TenantKey {
    return this.tenant.organizationId as TenantKey;
  }

  /** The tenant, as pools know it that serve live and test apart. */
  get environmentKey(): EnvironmentKey {
    const { organizationId, environment } = this.tenant;
    return `${organizationId} ${environment}` as EnvironmentKey;
  }

  /** Runs one statement, which is a transaction of its own. */
  async rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row[]> {
    const all = withTenant<Values>(this.tenant, values);
    if (of.sharesConnection) return this.#database.sharedConnections.rows(this.tenant, of, ...all);
    const rows = await this.#withConnection((client) => sqlOn(client).rows(of, ...all));
    if (of.counts) this.#count(usedBy(of, rows, all));
    if (of.enqueues) await this.#nudge(this.#withHints(enqueuedBy(of, rows)));
    return rows;
  }

  async one<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row | undefined> {
    return (await this.rows(of, ...values))[0];
  }

  /** Reads entities, in a transaction that PostgreSQL lets nothing write in. */
  read<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    return this.#withConnection(async (client) => {
      // Travels with the first query; the connection keeps their order.
      const began = client.query('begin read only');
      const [result] = await Promise.allSettled([work(this.#database.entitiesOn(client, this.tenant)), began]);
      await client.query('rollback');
      if (result.status === 'rejected') throw result.reason;
      return result.value;
    });
  }

  /**
   * One transaction of statements, entities, audit entries, events and outbox entries: all of them or none. After the
   * commit the platform attempts the enqueued work. `work` may be called again after a rollback: see `requireLocally`.
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>;
  /**
   * The same, once per Idempotency-Key: effect and outcome commit together, so that a crash leaves both or neither. A
   * request with the same key at the same time waits for the first one's commit and gets its outcome.
   * @param work must return an outcome that survives JSON; dates in it are kept
   * @throws AppError idempotency_key_reused; SealError; and whatever `work` throws
   */
  transaction<Outcome extends object>(
    work: (tx: Transaction) => Promise<Outcome>,
    options: ClaimOptions<Outcome>,
  ): Promise<Once<Outcome>>;
  transaction(work: (tx: Transaction) => Promise<object>, options?: ClaimOptions<object>): Promise<unknown> {
    const locks = options?.claim ? [claimLock(options.claim)] : [];
    return this.inTransaction<unknown>((tx) => (options ? once(tx, options, work) : work(tx)), locks);
  }

  /**
   * Gives the attempt right after the commit its data in memory, if a statement of this scope or transaction enqueues
   * the work. Forgotten with the scope; the drain works without it.
   */
  hint(kind: string, subjectId: string, hint: unknown): void {
    this.#hints ??= new Map();
    this.#hints.set(`${kind}/${subjectId}`, hint);
  }

  /** Attempts the entries that a transaction of several scopes enqueued for this one, as after a commit of its own. */
  async attempt(entries: Enqueued[]): Promise<void> {
    await this.#nudge(this.#withHints(entries));
  }

  /** Records the act of this scope's actor, in a transaction of its own: for acts without a transaction. */
  audit(record: TenantAuditRecord): Promise<void> {
    const { tenant, author } = this;
    return this.#withConnection((client) => recordAudit(sqlOn(client), { ...tenant, ...author, ...record }));
  }

  /** The parameters of a statement with `auditSql`, which records the act of this scope's actor. */
  auditValues(record: TenantAuditRecord): ReturnType<typeof auditValues> {
    return auditValues({ ...this.tenant, ...this.author, ...record });
  }

  /** @param names of locks that the transaction will need: they are waited for before it has a connection */
  protected async inTransaction<T>(work: (tx: Transaction) => Promise<T>, names: readonly string[] = []): Promise<T> {
    const locks = new TransactionLocks(this.#database.localLocks, this.tenant);
    try {
      let missing = names;
      for (;;) {
        if (missing.length > 0) await locks.wait(missing);
        try {
          return await this.#begin(work, locks);
        } catch (error) {
          if (!(error instanceof LockHeld)) throw error;
          missing = error.names;
        }
      }
    } finally {
      locks.release();
    }
  }

  async #begin<T>(work: (tx: Transaction) => Promise<T>, locks: TransactionLocks): Promise<T> {
    const [result, { enqueued, used }] = await this.#withConnection(async (client) => {
      const unit = new UnitOfWork(this.#database, client, this.tenant);
      return [await unit.run(() => work(new Transaction(this.#database, this, unit, locks))), unit] as const;
    });
    // Waiters for a lock of this transaction do not wait for the work after the commit.
    locks.release();
    this.#count(used);
    if (enqueued.length > 0) await this.#nudge(this.#withHints(enqueued));
    return result;
  }

  #withHints(entries: Enqueued[]): Enqueued[] {
    const hints = this.#hints;
    if (!hints) return entries;
    return entries.map((entry) => ({ hint: hints.get(`${entry.kind}/${entry.subjectId}`), ...entry }));
  }

  #count(used: readonly CountedUse[]): void {
    if (used.length > 0) this.#database.use.add(this.tenant, this.actor, used);
  }

  #nudge(entries: Enqueued[]): Promise<unknown> | undefined {
    if (entries.length === 0) return undefined;
    const { tenant, correlationId, actor } = this;
    return this.#database.outbox.afterCommit({ tenant, correlationId, actor, entries });
  }

  /** Lends a connection that is assigned to this tenant. After an error of unknown cause the connection is closed. */
  #withConnection<T>(work: (client: ClientBase) => Promise<T>): Promise<T> {
    const onConnection = async (client: PoolClient) => {
      try {
        const [, result] = await Promise.all([assignTenant(client, this.tenant), work(client)]);
        client.release();
        return result;
      } catch (error) {
        client.release(isConnectionSound(client, error) ? undefined : true);
        throw error;
      }
    };
    return this.#database.tenantConnections.lend(this.tenant.organizationId, onConnection, this.patienceMs);
  }
}

/**
 * A scope of work in the background. It waits for a database that cannot be reached: nothing was sent yet, so another attempt
 * does nothing twice, and what the work has called, a model for example, is not called again.
 */
export class WorkScope extends Scope {
  protected override readonly patienceMs = 15_000;
}

/** A scope whose statements and entities are one transaction. */
export class Transaction extends Scope {
  readonly #database: Database;
  readonly #outer: Scope;
  readonly #unit: UnitOfWork;
  readonly #locks: TransactionLocks;

  constructor(database: Database, outer: Scope, unit: UnitOfWork, locks: TransactionLocks) {
    super(database, outer.tenant, outer.correlationId, outer.actor, outer.origin);
    this.#database = database;
    this.#outer = outer;
    this.#unit = unit;
    this.#locks = locks;
  }

  /**
   * To be called before a request to PostgreSQL for a lock, with a name for it. If another transaction of this process
   * has the lock, this one is rolled back, and `work` is called again when it is free: the connection does not wait
   * with it.
   */
  requireLocally(names: readonly string[]): void {
    this.#locks.require(names);
  }

  /**
   * The tenant's entities on the connection of this transaction. Persisted or changed entities are written before the
   * next statement and before the commit. An entity that a statement changed must be refreshed.
   */
  get em(): EntityManager {
    return this.#unit.em;
  }

  override rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row[]> {
    return this.#unit.rows(of, ...withTenant<Values>(this.tenant, values));
  }

  override hint(kind: string, subjectId: string, hint: unknown): void {
    this.#outer.hint(kind, subjectId, hint);
  }

  override read<T>(work: (em: EntityManager) => Promise<T>): Promise<T> {
    return work(this.em);
  }

  /**
   * Records the act of this scope's actor. To be called last: other transactions of the organization that write to its
   * audit log wait from here to the end of this one.
   */
  override audit(record: TenantAuditRecord): Promise<void> {
    return this.#unit.audit({ ...this.tenant, ...this.author, ...record });
  }

  /**
   * Enqueues work that follows from this transaction: attempted right after its commit, and by the drain until it is done.
   * An entry of the same kind and subject that waits is replaced.
   * @param hint arguments in memory for the attempt after the commit
   */
  async enqueue(kind: string, subjectId: string, hint?: unknown): Promise<void> {
    this.#database.outbox.requireKind(kind);
    const entry = (await this.one(enqueue, { kind, subjectId, correlationId: this.correlationId }))!;
    this.#unit.enqueued.push({ kind, subjectId, entryId: entry.id, hint });
  }

  protected override inTransaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#unit.nested((unit) => work(new Transaction(this.#database, this, unit, this.#locks)));
  }
}
