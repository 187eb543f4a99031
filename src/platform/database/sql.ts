import pg, { type ClientBase, type Pool, type QueryResultRow } from 'pg';
import type { Tenant } from '../tenant.ts';
import type { CountedUse } from './counted-use.ts';
import { compileNamed } from './named-parameters.ts';
import type { Declaration, RowWith, ValuesFor } from './sql-types.ts';

/** Work that a statement wrote to the outbox. */
export interface EnqueuedBy {
  subjectId: string;
  /** Id of the outbox entry, where the statement returns it: it is deleted once the work is done. */
  entryId?: string;
}

/**
 * The outbox kinds that a statement writes, each with the subject of a returned row (undefined: none for this row).
 * `drain` leaves the entries to the drain: for statements that write many, and for entries whose work the caller does
 * itself.
 */
export type Enqueues<Row> = Record<string, (row: Row) => EnqueuedBy | undefined> | 'drain';

/** A statement, apart from what becomes of its rows. */
export interface StatementText<Values = unknown> {
  name: string;
  /** As PostgreSQL is sent it, with parameters by position. */
  text: string;
  /** Its parameters in the order of their positions. */
  parameters: Declaration;
  /** The columns of its rows. */
  columns: Declaration;
  /** Only carries the type of the values. */
  values?: Values;
}

/**
 * A named statement: PostgreSQL parses and plans it once per connection. For paths where every round trip counts (key
 * look-up, runs and their steps, deliveries, credits) and for what entities cannot say: one statement that decides and
 * writes at once, locks, aggregates, sweeps across tenants. Everything else, above all creating, reading and changing
 * single records, goes through MikroORM entities: `tx.em` and `scope.read`. Both run in the same transaction.
 */
export interface Statement<Row extends QueryResultRow, Values> extends StatementText<Values> {
  enqueues: Enqueues<Row> | undefined;
  /** What a row adds to the tenant's counters once it is committed. */
  counts?(row: Row, values: Values): readonly CountedUse[];
  /** Reads a row by its key and no more: it may share a connection with others like it. */
  sharesConnection: boolean;
  /** Only carries the row's type. */
  row?: Row;
}

/** The row of a statement. */
export type RowOf<Of extends { row?: unknown }> = NonNullable<Of['row']>;

const defined = new Map<string, StatementText>();

/** All statements of the modules that are loaded, by name: tests check them. */
export const statements: ReadonlyMap<string, StatementText> = defined;

interface Options<Row> {
  /** Declares the outbox entries that the statement writes. */
  enqueues?: Enqueues<Row>;
  sharesConnection?: boolean;
}

function define<Row extends QueryResultRow, Values>(of: Statement<Row, Values>): Statement<Row, Values> {
  const { name, text, enqueues, sharesConnection } = of;
  if (defined.has(name) && defined.get(name)!.text !== text) throw new Error(`Two statements are called ${name}.`);
  if (text.includes('insert into outbox (') && !enqueues) {
    throw new Error(`The statement ${name} writes to the outbox and does not declare what it enqueues.`);
  }
  if ((enqueues || of.counts) && sharesConnection) throw new Error(`The statement ${name} does more than read.`);
  defined.set(name, of);
  return of;
}

/** A statement with named parameters. A text writes them as `:name`; see `Declaration` for the types. */
interface Named<Parameters extends Declaration, Columns extends Declaration> extends Options<RowWith<Columns>> {
  name: string;
  /** The parameters that the caller gives: names of TypeScript, with the types of PostgreSQL that they are cast to. */
  parameters?: Parameters;
  /** The columns of the rows, by the names that the statement gives them. Without it the statement returns nothing. */
  row?: Columns;
  text: string;
  /** What a row adds to the tenant's counters once it is committed. */
  counts?(row: RowWith<Columns>, values: Tenant & ValuesFor<Parameters>): readonly CountedUse[];
}

function defineNamed<Columns extends Declaration, Values>(
  { name, row, text, enqueues, sharesConnection = false, counts }: Named<Declaration, Columns>,
  parameters: Declaration,
): Statement<RowWith<Columns>, Values> {
  const compiled = compileNamed(name, text, parameters);
  return define({
    name,
    text: compiled,
    parameters,
    columns: row ?? {},
    enqueues,
    sharesConnection,
    // Rows and values have the types that the statement declares.
    ...(counts && { counts: counts as never }),
  });
}

const tenantParameters = { organizationId: 'uuid', environment: 'text' } as const satisfies Declaration;

/** The parameters that a scope binds are not declared. */
type NotOfTenant = { readonly [Name in keyof Tenant]?: never };

/**
 * A tenant's statement, for `Scope` and its transactions. It contains `:organizationId` and `:environment`, which the
 * scope binds, and its declared parameters, which the caller gives as an object.
 * @throws Error when names and declaration differ or the tenant is not named; when another statement has this name,
 * because a connection would run the wrong one; and when it writes to the outbox and does not declare it
 */
export function statement<
  const Columns extends Declaration = Record<never, never>,
  const Parameters extends Declaration & NotOfTenant = Record<never, never>,
>(named: Named<Parameters, Columns>): Statement<RowWith<Columns>, Tenant & ValuesFor<Parameters>>;
export function statement(named: Named<Declaration, Declaration>): Statement<QueryResultRow, Tenant> {
  return defineNamed(named, { ...tenantParameters, ...named.parameters });
}

/**
 * A statement across tenants, for `sqlOn` and transactions of the system: the caller gives all parameters, as an object.
 * @throws Error as `statement` does
 */
export function systemStatement<
  const Columns extends Declaration = Record<never, never>,
  const Parameters extends Declaration = Record<never, never>,
>(named: Named<Parameters, Columns>): Statement<RowWith<Columns>, ValuesFor<Parameters>> {
  return defineNamed(named, named.parameters ?? {});
}

type OneObject<Values> = keyof Values extends never ? [] : [values: Values];

/** The additions of a statement's rows to counters. */
export const usedBy = <Row extends QueryResultRow, Values>(
  of: Statement<Row, Values>,
  rows: readonly Row[],
  [values]: SystemArguments<Values>,
): CountedUse[] => rows.flatMap((row) => of.counts?.(row, values as Values) ?? []);

/** The argument of a call of the statement: an object, or none if it has no parameters. */
export type SystemArguments<Values> = OneObject<Values>;

/** The argument of a tenant's statement: the same, without the tenant. */
export type TenantArguments<Values> = Values extends Tenant ? OneObject<Omit<Values, keyof Tenant>> : [tenant: never];

/** Runs named statements, on any connection of the pool or on the one connection of a transaction. */
export interface Sql {
  rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: SystemArguments<Values>
  ): Promise<Row[]>;
  one<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: SystemArguments<Values>
  ): Promise<Row | undefined>;
}

/** Runs a tenant's named statements, and binds the organization and the environment. */
export interface TenantSql {
  readonly tenant: Tenant;
  rows<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row[]>;
  one<Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...values: TenantArguments<Values>
  ): Promise<Row | undefined>;
}

/** Adds the tenant to the caller's parameters of its statement. */
export const withTenant = <Values>(
  { organizationId, environment }: Tenant,
  [given]: TenantArguments<Values>,
): SystemArguments<Values> =>
  [{ organizationId, environment, ...(given as object | undefined) }] as unknown as SystemArguments<Values>;

/** The values of a statement, in the order of their positions. */
export function positioned<Values>({ parameters }: StatementText<Values>, [given]: SystemArguments<Values>): unknown[] {
  const named = given as Record<string, unknown> | undefined;
  return Object.keys(parameters).map((name) => named?.[name]);
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

/** Sends a statement through the watch of this process, where it has one. */
export const watched = <T>(name: string, ask: () => Promise<T>): Promise<T> => (watch ? watch(name, ask) : ask());

export function sqlOn(executor: Pool | ClientBase): Sql {
  const rows = <Row extends QueryResultRow, Values>(
    of: Statement<Row, Values>,
    ...given: SystemArguments<Values>
  ): Promise<Row[]> =>
    watched(of.name, async () => {
      const { name, text } = of;
      return (await executor.query<Row>({ name, text, values: positioned(of, given), types })).rows;
    });
  return {
    rows,
    async one(of, ...given) {
      return (await rows(of, ...given))[0];
    },
  };
}
