import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import type { RowBound } from '../../src/platform/database/row-bound.ts';
import { statements } from '../../src/platform/database/sql.ts';
import type { TenantTable } from '../../src/platform/database/tenant-tables.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { entities, openServices, readEnv, rowBounds, type Services, tenantTables } from '../../src/services.ts';
import { declaredLimits } from '../../src/tenancy/core/plan-limits.ts';
import { createTestDatabase, type TestDatabase } from '../test-database.ts';

let testDatabase: TestDatabase;
let services: Services;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const variables = { DATABASE_URL: testDatabase.url, TEMPORAL_ADDRESS: '127.0.0.1:1' };
  services = await openServices(readEnv(variables), openLog('silent', 'test'), { connection: Connection.lazy() });
});
afterAll(async () => {
  await services.close();
  await testDatabase.drop();
});

const tables = entities.map(({ meta }) => meta.tableName).sort();
const query = async <Row extends object>(sql: string) => (await services.database.pool.query<Row>(sql)).rows;

test('every table declares how its rows are bounded, and nothing else does', () => {
  expect(Object.keys(rowBounds).sort()).toEqual(tables);
  const unbounded = Object.entries(rowBounds).filter(
    ([, { max, retention, removedWith, operatorsOnly, exempt }]) =>
      !(max || retention || removedWith || operatorsOnly || exempt),
  );
  expect(unbounded).toEqual([]);
});

test('a row that is only marked as deleted is removed later', () => {
  const marked = entities.filter(({ meta }) => 'deletedAt' in meta.properties).map(({ meta }) => meta.tableName);
  expect(marked.filter((table) => !rowBounds[table]?.retention).sort()).toEqual(['organization']);
});

/** What a declaration names that does not exist. */
async function problemsOf(bounds: Readonly<Record<string, RowBound>>): Promise<string[]> {
  const removers = new Set([...services.sweeps.map(({ name }) => name), ...services.database.outbox.kinds]);
  const cascades = new Set(
    (
      await query<{ pair: string }>(
        `select conrelid::regclass || ' ' || confrelid::regclass as pair from pg_constraint where confdeltype = 'c'`,
      )
    ).map(({ pair }) => pair),
  );
  const added = new Set(
    (
      await query<{ table: string }>(
        `select relname as table from pg_class
          where relnamespace = 'public'::regnamespace and has_table_privilege('atelier_tenant', oid, 'insert')`,
      )
    ).map(({ table }) => table),
  );
  const others = ['environment', 'installation', 'kind and subject', ...tables];
  return Object.entries(bounds).flatMap(([table, { max, retention, removedWith, operatorsOnly }]) => {
    const problems: string[] = [];
    if (max && 'plan' in max && !declaredLimits().has(max.plan)) problems.push(`no plan has the number ${max.plan}`);
    if (max && 'rows' in max && !(max.rows > 0 && others.includes(max.of))) problems.push(`${max.of} is no table`);
    if (retention && !removers.has(retention.by)) problems.push(`nothing is called "${retention.by}"`);
    if (operatorsOnly && added.has(table)) problems.push('tenants add rows');
    if (!removedWith) return problems.map((problem) => `${table}: ${problem}`);
    const { table: parent, by } = removedWith;
    if (!tables.includes(parent)) problems.push(`${parent} is no table`);
    if (by === 'foreign key') {
      if (!cascades.has(`${table} ${parent}`)) problems.push(`no foreign key removes it with ${parent}`);
    } else {
      const deletes = new RegExp(`delete from ${table}\\b`);
      for (const name of by) {
        if (!deletes.test(statements.get(name)?.text ?? '')) problems.push(`${name} does not remove it`);
      }
    }
    return problems.map((problem) => `${table}: ${problem}`);
  });
}

test('what the declarations name exists', async () => {
  expect(await problemsOf(rowBounds)).toEqual([]);
  const wrong: Record<string, RowBound> = {
    run: { max: { plan: 'rans' } },
    event: { max: { rows: 1, of: 'evnt' } },
    delivery: { retention: { by: 'remove deliveries', after: 'a while' } },
    booking: { operatorsOnly: true },
    run_step: { removedWith: { table: 'run', by: 'foreign key' } },
    run_block: { removedWith: { table: 'automation', by: ['run.remove'] } },
  };
  expect(await problemsOf(wrong)).toEqual([
    'run: no plan has the number rans',
    'event: evnt is no table',
    'delivery: nothing is called "remove deliveries"',
    'booking: tenants add rows',
    'run_step: no foreign key removes it with run',
    'run_block: run.remove does not remove it',
  ]);
});

test('what goes with another table ends at one that is bounded by itself', () => {
  const endOf = (table: string, seen: readonly string[] = []): string => {
    const { removedWith, max, retention } = rowBounds[table]!;
    if (!removedWith || max || retention) return table;
    return seen.includes(table) ? 'a circle' : endOf(removedWith.table, [...seen, table]);
  };
  const ends = tables.map((table) => endOf(table));
  expect(
    ends.filter(
      (table) =>
        !(
          rowBounds[table]?.max ||
          rowBounds[table]?.retention ||
          rowBounds[table]?.operatorsOnly ||
          rowBounds[table]?.exempt
        ),
    ),
  ).toEqual([]);
});

test('rows of a deleted organization are removed before the rows that they name', async () => {
  const inOrder = (of: readonly TenantTable[]): string[] =>
    of.flatMap(({ name, children }) => [...inOrder(children), name]);
  const emptied = inOrder(tenantTables);
  const keys = await query<{ table: string; named: string }>(
    `select conrelid::regclass::text as table, confrelid::regclass::text as named from pg_constraint
      where contype = 'f' and confdeltype = 'a' and conrelid <> confrelid`,
  );
  const checked = keys.filter(({ table, named }) => emptied.includes(table) && emptied.includes(named));
  expect(checked.length).toBeGreaterThan(5);
  expect(checked.filter(({ table, named }) => emptied.indexOf(table) > emptied.indexOf(named))).toEqual([]);
  // Parts remove theirs before: no other table may name them.
  const isByPart = (table: string) => rowBounds[table]?.purge === 'by the part';
  expect(keys.filter(({ table, named }) => emptied.includes(table) && isByPart(named))).toEqual([]);
});
