import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { findLedgerFaults } from '../../src/credits/audit.ts';
import { creditBalance } from '../../src/credits/balance.ts';
import { expireReservations } from '../../src/credits/expiry.ts';
import { reserveCredits, settleCredits, voidCredits } from '../../src/credits/reservations.ts';
import { type Database, databaseRoles } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let files: TestDatabase;
let database: Database;
/** Owns the tables, as an operator with psql would. */
let owner: pg.Client;
beforeAll(async () => {
  files = await createTestDatabase();
  // As many connections as a race has runners.
  database = await openTestDatabase(files.url, 20);
  owner = new pg.Client({ connectionString: files.ownerUrl });
  await owner.connect();
});
afterAll(async () => {
  await owner.end();
  await database.close();
  await files.drop();
});

async function newTenant(): Promise<Scope> {
  const { id } = await createOrganization(database, { name: 'Race', plan: 'free' });
  return new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'live' }, 'test');
}

const later = () => new Date(Date.now() + 3_600_000);
const reserve = (scope: Scope, key: string, amount: number) =>
  reserveCredits(scope, { operation: 'chat', key, amount, expiresInMs: 60_000 });
/** A tenant who has 5 credits left of 100. */
async function withFiveCredits(): Promise<Scope> {
  const scope = await newTenant();
  await reserve(scope, 'before', 95);
  await settleCredits(scope, { key: 'before', amount: 95 });
  return scope;
}

const twenty = <T>(run: (index: number) => Promise<T>) =>
  Promise.allSettled(Array.from({ length: 20 }, (_, i) => run(i)));
const fulfilled = <T>(results: PromiseSettledResult<T>[]) =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
const refusals = (results: PromiseSettledResult<unknown>[]) =>
  results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));

describe('of twenty at once', () => {
  test('exactly as many reserve as the balance allows, and the others hear what is missing', async () => {
    const scope = await withFiveCredits();
    const results = await twenty((index) => reserve(scope, `work ${index}`, 1));
    expect(fulfilled(results)).toHaveLength(5);
    for (const refusal of refusals(results)) {
      expect(refusal).toMatchObject({ code: 'insufficient_credits', facts: { required: 1, available: 0 } });
    }
    expect(await creditBalance(scope)).toMatchObject({ balance: 5, reserved: 5, available: 0 });
    for (let index = 0; index < 20; index++) await voidCredits(scope, { key: `work ${index}` });
    expect(await creditBalance(scope)).toMatchObject({ balance: 5, reserved: 0, available: 5 });
  });

  test('all who reserve the same work get the same reservation', async () => {
    const scope = await withFiveCredits();
    const results = fulfilled(await twenty(() => reserve(scope, 'work', 3)));
    expect(results).toHaveLength(20);
    expect(new Set(results.map(({ amount, status }) => `${amount} ${status}`))).toEqual(new Set(['3 held']));
    expect(await creditBalance(scope)).toMatchObject({ reserved: 3, available: 2 });
  });

  test('one ends a reservation, and all hear how', async () => {
    const scope = await withFiveCredits();
    await reserve(scope, 'work', 5);
    const results = fulfilled(
      await twenty((index) =>
        index % 2
          ? settleCredits(scope, { key: 'work', amount: 1 + (index % 5) })
          : voidCredits(scope, { key: 'work' }),
      ),
    );
    expect(results).toHaveLength(20);
    expect(new Set(results.map((ended) => `${ended?.status} ${ended?.charged}`)).size).toBe(1);
    expect(await creditBalance(scope)).toMatchObject({ balance: 5 - results[0]!.charged, reserved: 0 });
  });

  test('either the worker settles or the sweeper has been there, never both', async () => {
    const scope = await newTenant();
    const charged: number[] = [];
    for (let round = 0; round < 10; round++) {
      const key = `work ${round}`;
      await reserve(scope, key, 1);
      const [settled] = await Promise.allSettled([
        settleCredits(scope, { key, amount: 1 }),
        expireReservations(database, 100, later()),
      ]);
      if (settled.status === 'fulfilled') charged.push(settled.value.charged);
      else expect(settled.reason).toMatchObject({ code: 'conflict', facts: { status: 'expired' } });
    }
    expect(await creditBalance(scope)).toMatchObject({ balance: 100 - charged.length, reserved: 0 });
  });

  test('credits that come back while others ask are neither lost nor lent twice', async () => {
    const scope = await withFiveCredits();
    for (let round = 0; round < 5; round++) {
      for (let index = 0; index < 5; index++) await reserve(scope, `held ${round}.${index}`, 1);
      await twenty((index) =>
        index < 5
          ? voidCredits(scope, { key: `held ${round}.${index}` })
          : reserve(scope, `asks ${round}.${index}`, 1 + (index % 3)),
      );
      const { balance, reserved, available } = await creditBalance(scope);
      expect({ balance, sum: reserved + available }).toEqual({ balance: 5, sum: 5 });
      for (let index = 5; index < 20; index++) await voidCredits(scope, { key: `asks ${round}.${index}` });
    }
    expect(await creditBalance(scope)).toMatchObject({ balance: 5, reserved: 0 });
  });

  test('whatever happened here, the ledger adds up', async () => {
    expect(await findLedgerFaults(database)).toEqual([]);
    const { rows } = await owner.query(
      'select sum(monthly + lasting + held + spent + lapsed + issued)::int as sum, count(*)::int as entries from credit_entry',
    );
    expect(rows[0]).toEqual({ sum: 0, entries: expect.any(Number) });
    expect(rows[0].entries).toBeGreaterThan(100);
  });
});

describe('PostgreSQL itself', () => {
  test.each([
    ['update credit_entry set spent = spent + 1, held = held - 1'],
    ['delete from credit_entry'],
    ['truncate credit_entry'],
  ])('refuses `%s`, to whomever', async (sql) => {
    await withFiveCredits();
    await expect(owner.query(sql)).rejects.toThrow('rows of credit_entry are never changed or removed');
    for (const role of Object.values(databaseRoles)) {
      await owner.query(`set role ${role}`);
      await expect(owner.query(sql)).rejects.toThrow(
        /permission denied|rows of credit_entry are never changed or removed/,
      );
      await owner.query('reset role');
    }
  });

  test.each([
    ['one account below zero', 'update credit_account set monthly = -1, lasting = lasting + monthly + 1'],
    ['credits from nowhere', 'update credit_account set lasting = lasting + 1'],
    ['an entry that does not add up', entry({ lasting: 1 })],
    ['an entry that moves nothing', entry({})],
  ])('refuses %s', async (_, sql) => {
    const scope = await withFiveCredits();
    await expect(owner.query(sql.replaceAll('ORG', `'${scope.tenant.organizationId}'`))).rejects.toThrow(
      'check constraint',
    );
  });

  test('lets a step happen once', async () => {
    const scope = await withFiveCredits();
    const sql = entry({ lasting: 1, issued: -1 }).replaceAll('ORG', `'${scope.tenant.organizationId}'`);
    await owner.query('begin');
    await owner.query(sql);
    await expect(owner.query(sql)).rejects.toThrow('duplicate key');
    await owner.query('rollback');
  });
});

/** A hand-written entry, wrong or right. */
function entry(moves: Record<string, number>): string {
  const accounts = ['monthly', 'lasting', 'held', 'spent', 'lapsed', 'issued'];
  return `insert into credit_entry (organization_id, environment, key, phase, step, ${accounts}, created_at)
    values (ORG, 'live', 'by hand', 0, 'granted', ${accounts.map((account) => moves[account] ?? 0)}, now())`;
}
