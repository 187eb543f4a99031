import pg, { type ClientBase, type Pool, type QueryResultRow } from 'pg';
import type { Tenant } from './tenant.ts';

/** Work that a statement wrote to the outbox. */
export interface EnqueuedBy {
  subjectId: string;
  /** Id of the outbox entry, where the statement returns it: it is deleted once the work is done. */
  entryId?: string;
}

/**
 * The outbox kinds that a statement writes, each with the subject of a returned row (undefined: none for this row).
 * `drain` leaves the entries to the drain: for statements that write many, and for entries whose work the caller does itself.
 */
export type Enqueues<Row> = Record<string, (row: Row) => EnqueuedBy | undefined> | 'drain';

/**
 * A named statement: PostgreSQL parses and plans it once per connection. For paths where every round trip counts (key
 * look-up, runs and their steps, deliveries, credits) and for what entities cannot say: one statement that decides and
 * writes at once, locks, aggregates, sweeps across tenants. Everything else, above all creating, reading and changing
 * single records, goes through MikroORM entities: `tx.em` and `scope.read`. Both run in the same transaction.
 */
export interface Statement<Row extends QueryResultRow> {
  name: string;
  text: string;
  enqueues: Enqueues<Row> | undefined;
  /** Reads a row by its key and no more: it may share a connection with others like it. */
  sharesConnection: boolean;
  /** Only carries the row's type. */
  row?: Row;
}

const texts = new Map<string, string>();

/** The texts of all statements of the modules that are loaded, by name: tests check them. */
export const statementTexts: ReadonlyMap<string, string> = texts;

/**
 * @throws Error when another statement has this name, because a connection would run the wrong one, and when it writes to
 * the outbox and does not declare it
 */
export function statement<Row extends QueryResultRow>(
  name: string,
  text: string,
  { enqueues, sharesConnection = false }: { enqueues?: Enqueues<Row>; sharesConnection?: boolean } = {},
): Statement<Row> {
  if (texts.has(name) && texts.get(name) !== text) throw new Error(`Two statements are called ${name}.`);
  if (text.includes('insert into outbox (') && !enqueues) {
    throw new Error(`The statement ${name} writes to the outbox and does not declare what it enqueues.`);
  }
  if (enqueues && sharesConnection) throw new Error(`The statement ${name} does more than read.`);
  texts.set(name, text);
  return { name, text, enqueues, sharesConnection };
}

/** Runs named statements, on any connection of the pool or on the one connection of a transaction. */
export interface Sql {
  rows<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row[]>;
  one<Row extends QueryResultRow>(of: Statement<Row>, values?: unknown[]): Promise<Row | undefined>;
}

/** Runs a tenant's named statements: the organization is bound as $1 and the environment as $2. */
export interface TenantSql {
  readonly tenant: Tenant;
  rows<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row[]>;
  one<Row extends QueryResultRow>(of: Statement<Row>, ...values: unknown[]): Promise<Row | undefined>;
}

// The entity manager configures its pool to return times as strings; rows of statements have dates.
const { types } = pg;

/** Wraps each named statement from when it is sent until it is answered. */
export type StatementWatch = <T>(name: string, ask: () => Promise<T>) => Promise<T>;

let watch: StatementWatch | undefined;

/** Watches every named statement of this process from now on. */
export function watchStatements(by: StatementWatch): void {
  watch = by;
}

/** Sends a statement under the eyes of whoever watches. */
export const watched = <T>(name: string, ask: () => Promise<T>): Promise<T> => (watch ? watch(name, ask) : ask());

export function sqlOn(executor: Pool | ClientBase): Sql {
  const ask = async <Row extends QueryResultRow>({ name, text }: Statement<Row>, values: unknown[]) =>
    (await executor.query<Row>({ name, text, values, types })).rows;
  const rows = <Row extends QueryResultRow>(of: Statement<Row>, values: unknown[] = []) =>
    watched(of.name, () => ask(of, values));
  return {
    rows,
    async one(of, values) {
      return (await rows(of, values))[0];
    },
  };
}
