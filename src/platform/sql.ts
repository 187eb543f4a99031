import pg, { type ClientBase, type Pool, type PoolClient, type QueryResultRow } from 'pg';

/**
 * A named statement: PostgreSQL parses and plans it once per connection. Used where a request must be fast (key
 * look-up, run status, the run path); everything else goes through the entity manager.
 */
export interface Statement<Row extends QueryResultRow> {
  name: string;
  text: string;
  /** Only carries the row's type. */
  row?: Row;
}

export const statement = <Row extends QueryResultRow>(name: string, text: string): Statement<Row> => ({ name, text });

/** Runs named statements, on any connection of the pool or on the one connection of a transaction. */
export interface Sql {
  rows<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row[]>;
  one<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row | undefined>;
}

// The entity manager sets its pool up to hand it times as texts; a statement's row has dates.
const { types } = pg;

export function sqlOn(executor: Pool | ClientBase): Sql {
  const rows = async <Row extends QueryResultRow>({ name, text }: Statement<Row>, values: unknown[] = []) =>
    (await executor.query<Row>({ name, text, values, types })).rows;
  return {
    rows,
    async one(of, values) {
      return (await rows(of, values))[0];
    },
  };
}

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. A connection whose rollback
 * fails is thrown away, because nobody can say what state it is in.
 */
export async function inTransaction<T>(pool: Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  const client: PoolClient = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(sqlOn(client));
    await client.query('commit');
    client.release();
    return result;
  } catch (error) {
    await client.query('rollback').then(
      () => client.release(),
      (failure: Error) => client.release(failure),
    );
    throw error;
  }
}
