import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { rowPurge } from '../../src/operations/purge-rows.ts';
import { type StatementText, statements, systemStatement } from '../../src/platform/database/sql.ts';
import { type Declaration, postgresType, typed } from '../../src/platform/database/sql-types.ts';
import { tenantTables } from '../../src/services.ts';
import { readSources } from '../architecture/source-graph.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';
import { prepare } from './prepared-statement.ts';

let database: TestDatabase;
let client: pg.Client;
/** PostgreSQL's names of types by their object ids. `text` is also `varchar` and `name`. */
let types: ReadonlyMap<number, string>;
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query<{ oid: number; name: string }>(
    'select oid, oid::regtype::text as name from pg_type',
  );
  types = new Map(rows.map(({ oid, name }) => [oid, name.replace(/^(character varying|name)\b/, 'text')]));
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** The types that a statement declares, as PostgreSQL writes them. */
async function declaredTypes(declaration: Declaration): Promise<Record<string, string>> {
  const given = Object.values(declaration).map(postgresType);
  const { rows } = await client.query<{ name: string }>(
    'select type::regtype::text as name from unnest($1::text[]) with ordinality as given (type, number) order by number',
    [given],
  );
  return Object.fromEntries(Object.keys(declaration).map((name, index) => [name, rows[index]!.name]));
}

/** How a statement differs from what it declares. */
async function problemsOf({ name, text, columns }: StatementText): Promise<string[]> {
  try {
    // Accounts are read in a role of their own.
    await client.query(/\bauth\./.test(text) ? 'set role atelier_auth' : 'reset role');
    const prepared = await prepare(client, text).finally(() => client.query('reset role'));
    // For PostgreSQL a function that returns nothing is a column too.
    const returned = prepared.columns.filter(({ type }) => types.get(type) !== 'void');
    const found = Object.fromEntries(returned.map((column) => [column.name, types.get(column.type)]));
    const declared = await declaredTypes(columns);
    const all = [...new Set([...Object.keys(declared), ...Object.keys(found)])];
    const problems = all
      .filter((column) => declared[column] !== found[column])
      .map((column) => `${name}: ${column} is ${found[column]}, and declared as ${declared[column]}`);
    if (returned.length !== Object.keys(found).length) problems.push(`${name}: two columns have the same name`);
    return problems;
  } catch (error) {
    return [`${name}: ${(error as Error).message}`];
  }
}

test('PostgreSQL prepares every statement, and returns the columns that it declares', async () => {
  const sources = readSources().filter(
    ({ path, text, isTest }) => path.startsWith('src/') && !isTest && /\b(statement|systemStatement)[<(]/.test(text),
  );
  for (const { path } of sources) await import(`../../${path}`);
  // Those that empty the tables of a deleted organization follow from what the parts declare.
  rowPurge(tenantTables);
  // Tests that this process ran before have statements too.
  const ofProduct = [...statements.values()].filter(({ name }) => !name.startsWith('test.'));
  expect(ofProduct.length).toBeGreaterThan(400);
  const problems: string[] = [];
  for (const one of ofProduct) problems.push(...(await problemsOf(one)));
  expect(problems).toEqual([]);
});

test('what differs is found', async () => {
  const problems = (text: string, row: Declaration) =>
    problemsOf(systemStatement({ name: `test.prepared ${text}`, text, row }));
  const rows = 'select id, name, created_at as "createdAt" from organization';
  expect(await problems(rows, { id: 'uuid', name: 'text', createdAt: 'timestamptz?' })).toEqual([]);
  expect(await problems(rows, { id: 'text', called: 'text', createdAt: typed<Date>('timestamptz') })).toEqual([
    `test.prepared ${rows}: id is uuid, and declared as text`,
    `test.prepared ${rows}: called is undefined, and declared as text`,
    `test.prepared ${rows}: name is text, and declared as undefined`,
  ]);
  expect(await problems('select 1 as id, 2 as id', { id: 'int' })).toEqual([
    'test.prepared select 1 as id, 2 as id: two columns have the same name',
  ]);
  expect(await problems("select pg_notify('a', 'b')", {})).toEqual([]);
  expect(await problems('delete from organization returning scopes', {})).toEqual([
    'test.prepared delete from organization returning scopes: column "scopes" does not exist',
  ]);
});
