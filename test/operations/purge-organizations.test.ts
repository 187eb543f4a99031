import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { purgeOrganizations } from '../../src/operations/purge-organizations.ts';
import { rowPurge } from '../../src/operations/purge-rows.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { AuditEntry } from '../../src/platform/database/entities.ts';
import { platformRowBounds } from '../../src/platform/database/row-bound.ts';
import { tenantTablesOf } from '../../src/platform/database/tenant-tables.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { TenantEnds } from '../../src/tenancy/tenant-ends.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

/** An organization that was deleted so many days ago. @returns its uuid */
async function deleted(daysAgo: number): Promise<string> {
  const { id } = await createOrganization(database, { name: 'Gone', plan: 'free' });
  const uuid = organizationIds.parse(id)!;
  await database.pool.query('update organization set deleted_at = now() - make_interval(days => $2) where id = $1', [
    uuid,
    daysAgo,
  ]);
  return uuid;
}

test('organizations that cannot be removed, however many and old, hold up no other', async () => {
  const stuck = new Set<string>();
  while (stuck.size < 20) stuck.add(await deleted(60));
  const tenantEnds = new TenantEnds();
  const log = pino({ level: 'silent' });
  // They have nothing but the record of their creation.
  const purge = rowPurge(tenantTablesOf([AuditEntry], platformRowBounds));
  const purgeRows: typeof purge = async (on, id) => {
    if (stuck.has(id)) throw new Error('its rows are held');
    return purge(on, id);
  };
  const sweep = () => purgeOrganizations({ database, log, tenantEnds, disk: {} as never, purgeRows });
  await expect(sweep()).rejects.toThrow('its rows are held');
  await deleted(31);
  await deleted(31);
  const left = async () => {
    const { rows } = await database.pool.query('select id from organization');
    return new Set(rows.map(({ id }) => id));
  };
  // The two are tried after those that failed once, and before they are tried again.
  await sweep().catch(() => {});
  await sweep().catch(() => {});
  expect(await left()).toEqual(stuck);
  stuck.clear();
  await sweep();
  expect((await left()).size).toBe(0);
});
