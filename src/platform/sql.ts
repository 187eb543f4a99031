import type { EntityManager } from '@mikro-orm/postgresql';
import pg, { type ClientBase, type Pool, type QueryResultRow } from 'pg';

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

const texts = new Map<string, string>();

/** The texts of all statements of the modules that are loaded, by name: tests check them. */
export const statementTexts: ReadonlyMap<string, string> = texts;

/** @throws Error when another statement has this name: a connection would run the wrong one */
export function statement<Row extends QueryResultRow>(name: string, text: string): Statement<Row> {
  if (texts.has(name) && texts.get(name) !== text) throw new Error(`Two statements are called ${name}.`);
  texts.set(name, text);
  return { name, text };
}

/** Runs named statements, on any connection of the pool or on the one connection of a transaction. */
export interface Sql {
  rows<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row[]>;
  one<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row | undefined>;
}

// The entity manager sets its pool up to hand it times as texts; a statement's row has dates.
const { types } = pg;

/** Sees each named statement from when it is asked until it is answered. */
export type StatementWatch = <T>(name: string, ask: () => Promise<T>) => Promise<T>;

let watch: StatementWatch | undefined;

/** Watches every named statement of this process from now on. */
export function watchStatements(by: StatementWatch): void {
  watch = by;
}

export function sqlOn(executor: Pool | ClientBase): Sql {
  const ask = async <Row extends QueryResultRow>({ name, text }: Statement<Row>, values: unknown[]) =>
    (await executor.query<Row>({ name, text, values, types })).rows;
  const rows = <Row extends QueryResultRow>(of: Statement<Row>, values: unknown[] = []) =>
    watch ? watch(of.name, () => ask(of, values)) : ask(of, values);
  return {
    rows,
    async one(of, values) {
      return (await rows(of, values))[0];
    },
  };
}

/** Runs statements in the transaction that an entity manager is in, with what it has yet to write written first. */
export function sqlOfManager(em: EntityManager): Sql {
  const rows = async <Row extends QueryResultRow>({ text }: Statement<Row>, values: unknown[] = []) => {
    await em.flush();
    const bound: unknown[] = [];
    const numberless = text.replaceAll(/\$(\d+)/g, (_, number) => {
      bound.push(values[number - 1]);
      return '?';
    });
    return em.execute<Row[]>(numberless, bound);
  };
  return {
    rows,
    async one(of, values) {
      return (await rows(of, values))[0];
    },
  };
}

/**
 * Runs `work` in one transaction on this connection: committed when it resolves, rolled back when it rejects. A rollback
 * that fails leaves the connection in a transaction, which its owner must not use again.
 */
export async function transactionOn<T>(client: ClientBase, work: (sql: Sql) => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work(sqlOn(client));
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}
