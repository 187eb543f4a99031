import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
} from 'kysely';
import type { ClientBase, CustomTypesConfig } from 'pg';

/** Entities' queries on one connection, whose transaction the caller began and ends. */
class BorrowedConnection implements DatabaseConnection {
  readonly #client: ClientBase;
  readonly #types: CustomTypesConfig;

  constructor(client: ClientBase, types: CustomTypesConfig) {
    this.#client = client;
    this.#types = types;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const query = { text: sql, values: [...parameters], types: this.#types };
    const { command, rowCount, rows } = await this.#client.query(query);
    const changes = command === 'INSERT' || command === 'UPDATE' || command === 'DELETE' || command === 'MERGE';
    return { rows: rows ?? [], ...(changes && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  // biome-ignore lint/correctness/useYield: it only refuses
  async *streamQuery<Row>(): AsyncGenerator<QueryResult<Row>> {
    throw new Error('Entities are not streamed in a transaction.');
  }
}

class BorrowedDriver implements Driver {
  readonly #connection: DatabaseConnection;

  constructor(connection: DatabaseConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }
  async beginTransaction(): Promise<void> {}
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}
}

/** MikroORM needs a savepoint when `em.transactional` is called inside a transaction. */
class EntityConnection extends Kysely<unknown> {
  savepoint(): never {
    throw new Error('A transaction within a transaction is begun by tx.transaction.');
  }
}

/**
 * The transaction context of an entity manager that works on this connection, in the transaction that it is in.
 * @param types of the entity manager's own pool: it reads values in formats of its own
 */
export function entityConnection(client: ClientBase, types: CustomTypesConfig): Kysely<unknown> {
  return new EntityConnection({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new BorrowedDriver(new BorrowedConnection(client, types)),
      createIntrospector: (kysely) => new PostgresIntrospector(kysely),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}
