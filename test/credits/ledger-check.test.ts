import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { checkLedger, findLedgerFaults } from '../../src/credits/audit.ts';
import { grantCredits } from '../../src/credits/grants.ts';
import { reserveCredits } from '../../src/credits/reservations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
/** Changes what the product never would. */
let owner: pg.Client;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url);
  owner = new pg.Client({ connectionString: files.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await database.close();
  await files.drop();
});

/** An organization with 10,000 credits that stay, one reserved. */
async function newTenant() {
  const { id } = await createOrganization(database, { name: 'Checked', plan: 'free' });
  const tenant = { organizationId: organizationIds.parse(id)!, environment: 'live' as const };
  await grantCredits(database, { ...tenant, amount: 10_000 });
  const scope = new Scope(database, tenant, 'test');
  await reserveCredits(scope, { operation: 'chat', key: 'open', amount: 1, expiresInMs: 600_000 });
  return tenant;
}

const giveCredit = (organizationId: string, credits: number) =>
  owner.query('update credit_account set lasting = lasting + $2, issued = issued - $2 where organization_id = $1', [
    organizationId,
    credits,
  ]);

/** A check of all tenants at once, however long it takes. */
const checkAll = () => checkLedger(database, { budgetMs: 600_000 });

/** The result of the check, as the gauges read it. */
const stored = async () => (await owner.query('select faults, checked_at as at from ledger_check')).rows[0];
const makeDue = () => owner.query('update ledger_check set due_at = clock_timestamp()');

/** Calls of the check until it has been through all tenants, each of which does as little as it can. */
async function checkInParts(): Promise<number> {
  const { at: before } = await stored();
  for (let calls = 1; ; calls++) {
    expect(await checkLedger(database, { budgetMs: 0 })).toEqual({ faults: [], unchecked: [] });
    if ((await stored()).at.getTime() > before.getTime()) return calls;
  }
}

/** One with 12,000 entries of yesterday, as the settlement of 6,000 reservations leaves them. */
async function newLargeTenant() {
  const tenant = await newTenant();
  const { organizationId } = tenant;
  const entry = (phase: number, step: string, changes: string) =>
    owner.query(
      `insert into credit_entry (organization_id, environment, key, phase, step, monthly, lasting, held, spent, lapsed,
                                 issued, created_at)
       select $1, 'live', 'work ' || n, ${phase}, '${step}', ${changes}, now() - interval '1 day'
         from generate_series(1, 6000) n`,
      [organizationId],
    );
  await entry(1, 'held', '0, -1, 1, 0, 0, 0');
  await entry(2, 'settled', '0, 0, -1, 1, 0, 0');
  const account = 'update credit_account set lasting = lasting - 6000, spent = spent + 6000 where organization_id = $1';
  await owner.query(account, [organizationId]);
  return tenant;
}

let large: Awaited<ReturnType<typeof newLargeTenant>>;

test('entries of many pages are summed, and what is wrong in the last one is found', async () => {
  large = await newLargeTenant();
  const { organizationId } = large;
  expect(await findLedgerFaults(database)).toEqual([]);

  await giveCredit(organizationId, 1);
  expect(await findLedgerFaults(database)).toEqual([{ ...large, fault: 'account differs from entries' }]);
  await giveCredit(organizationId, -1);
  await owner.query(
    `insert into credit_hold (organization_id, environment, key, operation, monthly, lasting, period, expires_at)
     values ($1, 'live', 'work 999', 'chat', 0, 1, '2026-11', now() + interval '1 day')`,
    [organizationId],
  );
  expect(await findLedgerFaults(database)).toEqual([
    { ...large, fault: 'held differs from open reservations' },
    { ...large, fault: 'reservation is neither open nor ended' },
  ]);
  await owner.query(`delete from credit_hold where key = 'work 999'`);
  expect(await findLedgerFaults(database)).toEqual([]);
});

test('entries and reservations without an account are found', async () => {
  const lost = { organizationId: '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', environment: 'test' };
  await owner.query(
    `insert into credit_hold (organization_id, environment, key, operation, monthly, lasting, period, expires_at)
     values ($1, 'test', 'lost', 'chat', 0, 1, 'once', now() + interval '1 day')`,
    [lost.organizationId],
  );
  expect(await findLedgerFaults(database)).toEqual([
    { ...lost, fault: 'held differs from open reservations' },
    { ...lost, fault: 'reservation is neither open nor ended' },
  ]);
  await owner.query(`delete from credit_hold where key = 'lost'`);
});

test('a check continues where it was left, and its faults count once it has ended', async () => {
  const tenants = [await newTenant(), await newTenant(), await newTenant()];
  for (const { organizationId } of tenants.slice(0, 2)) await giveCredit(organizationId, 5);
  const found = [];
  for (let calls = 1; ; calls++) {
    const result = await checkLedger(database, { budgetMs: 0 });
    found.push(...result!.faults);
    const { faults, at } = await stored();
    if (at === null) continue;
    // One for each page of the large tenant.
    expect(calls).toBeGreaterThanOrEqual(tenants.length + 6);
    expect(faults).toBe(2);
    break;
  }
  expect(found.map(({ organizationId }) => organizationId)).toEqual(
    tenants.slice(0, 2).map(({ organizationId }) => organizationId),
  );
  expect(await checkAll()).toBeUndefined();
  for (const { organizationId } of tenants.slice(0, 2)) await giveCredit(organizationId, -5);
  await makeDue();
  expect(await checkAll()).toEqual({ faults: [], unchecked: [] });
  expect(await stored()).toMatchObject({ faults: 0 });
});

test('old entries are read once, and again before an account that differs is called a fault', async () => {
  const { organizationId } = large;
  const check = async () => {
    await makeDue();
    return (await checkAll())!.faults;
  };
  await makeDue();
  const again = await checkInParts();
  await owner.query('delete from ledger_sum');
  await makeDue();
  expect(await checkInParts()).toBe(again + 6);

  await giveCredit(organizationId, 1);
  expect(await check()).toEqual([{ ...large, fault: 'account differs from entries' }]);
  expect(await check()).toEqual([{ ...large, fault: 'account differs from entries' }]);
  await giveCredit(organizationId, -1);
  expect(await check()).toEqual([]);

  // Its transaction took two days.
  await owner.query(
    `insert into credit_entry (organization_id, environment, key, phase, step, monthly, lasting, held, spent, lapsed,
                               issued, created_at)
     values ($1, 'live', 'late', 0, 'granted', 0, 1, 0, 0, 0, -1, now() - interval '2 days')`,
    [organizationId],
  );
  await giveCredit(organizationId, 1);
  expect(await check()).toEqual([]);
});

test('a process that drains leaves the rest of the check to another', async () => {
  await owner.query('delete from ledger_sum');
  await makeDue();
  const { at } = await stored();
  expect(await checkLedger(database, { signal: AbortSignal.abort() })).toEqual({ faults: [], unchecked: [] });
  expect(await stored()).toMatchObject({ at });
  expect(await checkAll()).toEqual({ faults: [], unchecked: [] });
  expect((await stored()).at.getTime()).toBeGreaterThan(at.getTime());
});

test('an organization that cannot be checked stops no other, and the check does not count as one of all', async () => {
  const [broken, after] = [await newTenant(), await newTenant()];
  await giveCredit(after.organizationId, 5);
  const before = await stored();
  await owner.query(`alter table credit_entry rename to real_entry;
    create view credit_entry as
      select organization_id, environment, key, phase, monthly, lasting, held, lapsed, issued, created_at,
             case when organization_id = '${broken.organizationId}' then spent / (phase - phase) else spent end as spent
        from real_entry;
    grant select on credit_entry to atelier_system`);
  await makeDue();
  const { faults, unchecked } = (await checkAll())!;
  await owner.query('drop view credit_entry; alter table real_entry rename to credit_entry');
  expect(faults).toEqual([{ ...after, fault: 'account differs from entries' }]);
  expect(unchecked).toEqual([{ ...broken, error: expect.objectContaining({ message: 'division by zero' }) }]);
  expect(await stored()).toEqual({ faults: 1, at: before.at });
  await makeDue();
  await checkAll();
  expect((await stored()).at.getTime()).toBeGreaterThan(before.at.getTime());
});
