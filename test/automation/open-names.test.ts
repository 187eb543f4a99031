import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findOpenNames, tenantsPerRound } from '../../src/automation/events/events-sql.ts';
import { TenantRounds } from '../../src/automation/events/tenant-rounds.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url, 2);
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

/** An organization with open events of so many names, and decided ones. @returns its uuid */
async function organizationWith(names: number): Promise<string> {
  const organizationId = organizationIds.parse((await createOrganization(database, { name: 'A', plan: 'free' })).id)!;
  await database.pool.query(
    `insert into workflow_event (id, organization_id, environment, type, external_id, is_own, content, correlation_id,
                                 received_at, looked_at, resumed, started, is_answered, is_complete)
     select uuidv7(), $1, 'test', 'name_' || n / 2, n::text, false, '{}', 'x', clock_timestamp(), 0, 0, 0, true, is_complete
       from generate_series(0, $2 * 2 - 1) n, unnest(array[true, false]) is_complete`,
    [organizationId, names],
  );
  return organizationId;
}

const rounds = new TenantRounds(findOpenNames);
const openNames = async () => Map.groupBy(await rounds.next(database), ({ organizationId }) => organizationId);

test('an organization with very many open names leaves room for others, and all of its names have their turn', async () => {
  expect((await openNames()).size).toBe(0);
  const many = await organizationWith(1_100);
  const few = await organizationWith(2);
  const seen = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const names = await openNames();
    expect(
      names
        .get(few)
        ?.map(({ type }) => type)
        .toSorted(),
    ).toEqual(['name_0', 'name_1']);
    expect(names.get(many)).toHaveLength(50);
    for (const { type } of names.get(many)!) seen.add(type);
  }
  expect(seen.size).toBeGreaterThan(300);
});

test('each of more organizations than a round has room for has its turn', async () => {
  const count = 2 * tenantsPerRound + 100;
  await database.pool.query(
    `insert into workflow_event (id, organization_id, environment, type, external_id, is_own, content, correlation_id,
                                 received_at, looked_at, resumed, started, is_answered, is_complete)
     select uuidv7(), gen_random_uuid(), 'test', 'name', n::text, false, '{}', 'x', clock_timestamp(), 0, 0, 0, true, false
       from generate_series(1, $1::int) n`,
    [count],
  );
  const every = new TenantRounds(findOpenNames);
  for (let time = 0; time < 2; time++) {
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      for (const { organizationId } of await every.next(database)) seen.add(organizationId);
    }
    expect(seen.size).toBeGreaterThanOrEqual(count);
  }
});
