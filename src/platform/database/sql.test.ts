import { describe, expect, test } from '@jest/globals';
import type { Tenant } from '../tenant.ts';
import { positioned, type RowOf, type Sql, statement, systemStatement, type TenantSql, withTenant } from './sql.ts';
import { type SqlType, typed } from './sql-types.ts';

const ofTenant = 'organization_id = :organizationId and environment = :environment';
const textOf = (text: string, parameters: Record<string, SqlType> = {}) =>
  statement({ name: `test.${text}`, text: `select from t where ${ofTenant} and ${text}`, parameters }).text.split(
    '$2::text and ',
  )[1];

describe('named parameters', () => {
  test('become positions in the order of their declaration, each with its type', () => {
    const { text, parameters } = statement({
      name: 'test.positions',
      parameters: { first: 'uuid', second: 'timestamptz?', third: 'text?[]?' },
      text: `select from t where ${ofTenant} and a = :second and b = any(:third) and c = :first and d = :second`,
    });
    expect(text).toBe(
      'select from t where organization_id = $1::uuid and environment = $2::text and a = $4::timestamptz and ' +
        'b = any($5::text[]) and c = $3::uuid and d = $4::timestamptz',
    );
    expect(Object.keys(parameters!)).toEqual(['organizationId', 'environment', 'first', 'second', 'third']);
  });

  test.each([
    ["a = ':name' and b = :b", "a = ':name' and b = $3::int"],
    ["a = 'it''s :name' and b = :b", "a = 'it''s :name' and b = $3::int"],
    ['a::text = b::text || :b::text', 'a::text = b::text || $3::int::text'],
    ['a as ":name" = :b', 'a as ":name" = $3::int'],
    ['f(a => :b, b := 1)', 'f(a => $3::int, b := 1)'],
    ['a[1:2] = b[: :b]', 'a[1:2] = b[: $3::int]'],
    ['true -- :name\nand a=:b', 'true -- :name\nand a=$3::int'],
    ['true /* :name */ and a=:b', 'true /* :name */ and a=$3::int'],
  ])('are no other colons: %s', (given, expected) => {
    expect(textOf(given, { b: 'int' })).toBe(expected);
  });

  test('are refused where names and declaration differ', () => {
    expect(() => textOf('a = :missing')).toThrow('does not declare its parameter missing');
    expect(() => textOf('a = :b', { b: 'int', extra: 'int' })).toThrow('does not use extra');
    expect(() => textOf('a = $3')).toThrow('has named parameters, and uses $3');
  });

  test('always name the tenant of a statement', () => {
    const text = 'select from t where organization_id = :organizationId';
    expect(() => statement({ name: 'test.no_tenant', text })).toThrow('does not use environment');
    const parameters = { organizationId: 'uuid' } as const;
    // @ts-expect-error The scope binds it.
    expect(() => statement({ name: 'test.declared', text, parameters })).toThrow('does not use environment');
    expect(systemStatement({ name: 'test.system', text, parameters }).text).toBe(
      'select from t where organization_id = $1::uuid',
    );
  });
});

const findThings = statement({
  name: 'test.things',
  parameters: { ids: 'uuid[]', since: 'timestamptz?' },
  row: { id: 'uuid', kind: typed<'one' | 'other'>('text'), endedAt: 'timestamptz?', names: 'text[]' },
  text: `select id, kind, ended_at as "endedAt", names from thing
    where ${ofTenant} and id = any(:ids) and ended_at > :since`,
});
const countAll = systemStatement({
  name: 'test.count',
  row: { count: 'int' },
  text: 'select count(*)::int from thing',
});

test('values are given by name, and the tenant by the scope', () => {
  const tenant = { organizationId: 'o', environment: 'test' } as const;
  const since = new Date();
  const named = withTenant<Tenant & { ids: string[]; since: Date | null }>(tenant, [{ since, ids: ['a'] }]);
  expect(positioned(findThings, named)).toEqual(['o', 'test', ['a'], since]);
  expect(positioned(countAll, [])).toEqual([]);
});

/** Checked by the compiler, and never called. */
async function typesOf(tenant: TenantSql, system: Sql): Promise<unknown> {
  const [row] = await tenant.rows(findThings, { ids: ['a'], since: null });
  const thing: { id: string; kind: 'one' | 'other'; endedAt: Date | null; names: string[] } | undefined = row;
  const same: RowOf<typeof findThings> | undefined = thing;
  // @ts-expect-error A parameter is missing.
  await tenant.rows(findThings, { ids: [] });
  // @ts-expect-error There is no such parameter.
  await tenant.rows(findThings, { ids: [], since: null, until: null });
  // @ts-expect-error It has another type.
  await tenant.rows(findThings, { ids: [1], since: null });
  // @ts-expect-error It is null or not, and never left out.
  await tenant.rows(findThings, { ids: [], since: undefined });
  // @ts-expect-error Values are not given by position.
  await tenant.rows(findThings, [], null);
  // @ts-expect-error The tenant is given outside a scope.
  await system.rows(findThings, { ids: [], since: null });
  await system.rows(findThings, { organizationId: 'o', environment: 'test', ids: [], since: new Date() });
  // @ts-expect-error A statement across tenants does not run in a scope.
  await tenant.rows(countAll);
  const count: number | undefined = (await system.one(countAll))?.count;
  // @ts-expect-error Columns have the types that are declared.
  const wrong: string | undefined = (await system.one(countAll))?.count;
  return [same, count, wrong];
}

test('names and types of parameters and columns are checked by the compiler', () => {
  expect(typesOf).toHaveLength(2);
});
