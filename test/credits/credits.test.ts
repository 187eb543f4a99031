import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { findLedgerFaults } from '../../src/credits/audit.ts';
import { creditBalance, creditsUsed } from '../../src/credits/balance.ts';
import { expireReservations } from '../../src/credits/expiry.ts';
import { grantCredits, setMonthlyGrant } from '../../src/credits/grants.ts';
import { reserveCredits, settleCredits, voidCredits } from '../../src/credits/reservations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import type { Environment } from '../../src/platform/tenant.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization, updateOrganization } from '../../src/tenancy/organizations.ts';
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
  expect(await findLedgerFaults(database)).toEqual([]);
  await owner.end();
  await database.close();
  await files.drop();
});

const november = new Date('2026-11-20T12:00:00.000Z');
const lastSecond = new Date('2026-11-30T23:59:59.000Z');
const december = new Date('2026-12-01T00:00:00.000Z');
const minute = 60_000;

async function newOrganization(plan = 'free'): Promise<string> {
  return organizationIds.parse((await createOrganization(database, { name: 'Credits', plan })).id)!;
}
const scopeOf = (organizationId: string, environment: Environment = 'live') =>
  new Scope(database, { organizationId, environment }, 'test');
const newTenant = async (plan?: string) => scopeOf(await newOrganization(plan));

const reserve = (scope: Scope, key: string, amount: number, now = november) =>
  reserveCredits(scope, { operation: 'chat', key, amount, expiresInMs: 10 * minute }, now);
const settle = (scope: Scope, key: string, amount: number, now = november) =>
  settleCredits(scope, { key, amount }, now);
const balance = (scope: Scope, now = november) => creditBalance(scope, now);
const twenty = <T>(run: (index: number) => Promise<T>) =>
  Promise.allSettled(Array.from({ length: 20 }, (_, i) => run(i)));
const fulfilled = <T>(results: PromiseSettledResult<T>[]) =>
  results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));

describe('grants', () => {
  test.each([
    ['free', 100],
    ['pro', 1_000],
    ['team', 5_000],
    ['enterprise', 10_000],
  ])('an organization on %s begins with %d credits and 10,000 test credits', async (plan, credits) => {
    const organizationId = await newOrganization(plan);
    expect(await balance(scopeOf(organizationId))).toEqual({
      balance: credits,
      reserved: 0,
      available: credits,
      monthlyGrant: credits,
      nextGrantAt: december,
    });
    const tests = { balance: 10_000, reserved: 0, available: 10_000, monthlyGrant: 0, nextGrantAt: null };
    expect(await balance(scopeOf(organizationId, 'test'))).toEqual(tests);
    expect(await balance(scopeOf(organizationId, 'test'), december)).toEqual(tests);
  });

  test('twenty who look at once in a new month give one grant, and what is left of the old one lapses once', async () => {
    const scope = await newTenant();
    await grantCredits(
      database,
      { organizationId: scope.tenant.organizationId, environment: 'live', amount: 50 },
      november,
    );
    await reserve(scope, 'work', 30);
    await settle(scope, 'work', 30);
    const looks = fulfilled(await twenty(() => balance(scope, december)));
    expect(looks.map(({ available }) => available)).toEqual(Array(20).fill(150));
    const { rows } = await owner.query(
      'select key, lapsed from credit_entry where organization_id = $1 and phase = 0 and step = $2',
      [scope.tenant.organizationId, 'lapsed'],
    );
    expect(rows).toEqual([{ key: 'lapse 2026-11', lapsed: 70 }]);
  });

  test('the plan’s credits are spent before those that stay', async () => {
    const scope = await newTenant();
    await grantCredits(
      database,
      { organizationId: scope.tenant.organizationId, environment: 'live', amount: 50 },
      november,
    );
    await reserve(scope, 'all of November and 20 more', 120);
    await settle(scope, 'all of November and 20 more', 120);
    expect((await balance(scope, december)).available).toBe(100 + 30);
  });

  test('a larger plan gives the difference before anything else is spent, and going back and forth gives no more', async () => {
    const scope = await newTenant();
    const { organizationId } = scope.tenant;
    await grantCredits(database, { organizationId, environment: 'live', amount: 5_000 }, november);
    await reserve(scope, 'first', 1);
    await updateOrganization(database, organizationId, { plan: 'pro' });
    await reserve(scope, 'second', 900);
    await settle(scope, 'second', 900);
    expect((await balance(scope)).balance).toBe(5_000 + 100);
    for (const plan of ['free', 'pro', 'free', 'pro']) {
      await updateOrganization(database, organizationId, { plan });
      expect((await balance(scope)).balance).toBe(5_000 + 100);
    }
    expect((await balance(scope, december)).balance).toBe(5_000 + 1_000 + 1);
  });

  test('an Enterprise organization may have a number of its own: more at once, less from next month', async () => {
    const scope = await newTenant('enterprise');
    const { organizationId } = scope.tenant;
    await setMonthlyGrant(database, organizationId, 25_000, november);
    expect(await balance(scope)).toMatchObject({ available: 25_000, monthlyGrant: 25_000 });
    await setMonthlyGrant(database, organizationId, 0, november);
    expect(await balance(scope)).toMatchObject({ available: 25_000, monthlyGrant: 0 });
    expect((await balance(scope, december)).available).toBe(0);
    await expect(setMonthlyGrant(database, organizationId, -1)).rejects.toThrow('monthlyCredits');
  });

  test('an operator’s grant with a key is given once', async () => {
    const scope = await newTenant();
    const grant = { organizationId: scope.tenant.organizationId, environment: 'live', amount: 7, key: 'order 1' };
    await twenty(() => grantCredits(database, grant, november));
    expect((await balance(scope)).available).toBe(107);
  });
});

describe('a reservation', () => {
  test('is charged what was used, and the rest comes back', async () => {
    const scope = await newTenant();
    expect(await reserve(scope, 'work', 30)).toEqual({
      key: 'work',
      operation: 'chat',
      amount: 30,
      status: 'held',
      charged: 0,
      expiresAt: new Date(november.getTime() + 10 * minute),
    });
    expect(await balance(scope)).toMatchObject({ balance: 100, reserved: 30, available: 70 });
    expect(await settle(scope, 'work', 12)).toMatchObject({ status: 'settled', charged: 12, expiresAt: null });
    expect(await balance(scope)).toMatchObject({ balance: 88, reserved: 0, available: 88 });
  });

  test.each([
    [0, 0],
    [30, 30],
    [31, 30],
  ])('of 30 that used %d is charged %d: never more than was reserved', async (used, charged) => {
    const scope = await newTenant();
    await reserve(scope, 'work', 30);
    expect((await settle(scope, 'work', used)).charged).toBe(charged);
    expect((await balance(scope)).balance).toBe(100 - charged);
  });

  test('ends once: a second settle or void gets the first outcome', async () => {
    const scope = await newTenant();
    await reserve(scope, 'settled', 10);
    const settled = await settle(scope, 'settled', 4);
    expect(await settle(scope, 'settled', 9)).toEqual(settled);
    expect(await voidCredits(scope, { key: 'settled' }, november)).toEqual(settled);
    expect(await reserve(scope, 'settled', 10)).toEqual(settled);
    await reserve(scope, 'voided', 10);
    const voided = await voidCredits(scope, { key: 'voided' }, november);
    expect(voided).toMatchObject({ status: 'voided', charged: 0 });
    expect(await settle(scope, 'voided', 9)).toEqual(voided);
    expect(await balance(scope)).toMatchObject({ balance: 96, reserved: 0 });
  });

  test('that does not exist cannot be settled, and voiding it is a no-op', async () => {
    const scope = await newTenant();
    await expect(settle(scope, 'unknown', 1)).rejects.toMatchObject({ code: 'not_found' });
    expect(await voidCredits(scope, { key: 'unknown' })).toBeUndefined();
  });

  test('belongs to one piece of work: its key cannot stand for another', async () => {
    const scope = await newTenant();
    await reserve(scope, 'work', 10);
    await expect(reserve(scope, 'work', 11)).rejects.toMatchObject({ code: 'conflict' });
    await expect(
      reserveCredits(scope, { operation: 'image', key: 'work', amount: 10, expiresInMs: minute }, november),
    ).rejects.toMatchObject({ code: 'conflict' });
  });

  test.each([0, -1, 1.5, Number.NaN, 1e12])('of %d credits is a mistake of the caller', async (amount) => {
    const scope = await newTenant();
    await expect(reserve(scope, 'work', amount)).rejects.toThrow(RangeError);
    if (amount !== 0) await expect(settle(scope, 'work', amount)).rejects.toThrow(RangeError);
  });

  test('made in a month gives nothing of that month’s grant back in the next, and what stays comes back', async () => {
    const scope = await newTenant();
    await grantCredits(
      database,
      { organizationId: scope.tenant.organizationId, environment: 'live', amount: 50 },
      november,
    );
    await reserve(scope, 'work', 120, lastSecond);
    expect((await balance(scope, december)).available).toBe(100 + 30);
    expect(await settle(scope, 'work', 95, december)).toMatchObject({ charged: 95 });
    // 95 of November's 100 credits were used and 5 lapsed; the 20 lasting ones were returned.
    expect(await balance(scope, december)).toMatchObject({ balance: 150, reserved: 0 });
  });

  test('made in a transaction that fails was never made', async () => {
    const scope = await newTenant();
    const failed = scope.transaction(async (tx) => {
      await reserve(tx, 'work', 10);
      throw new Error('the rest of it failed');
    });
    await expect(failed).rejects.toThrow('the rest');
    expect(await voidCredits(scope, { key: 'work' })).toBeUndefined();
    expect(await balance(scope)).toMatchObject({ balance: 100, reserved: 0 });
  });

  test('with the same key of another tenant or environment is another one', async () => {
    const [organizationId, other] = [await newOrganization(), await newOrganization()];
    const scopes = [scopeOf(organizationId), scopeOf(organizationId, 'test'), scopeOf(other)];
    for (const [index, scope] of scopes.entries()) await reserve(scope, 'work', 10 + index);
    await settle(scopes[0]!, 'work', 10);
    expect(await voidCredits(scopes[1]!, { key: 'work' })).toMatchObject({ amount: 11, status: 'voided' });
    expect(await balance(scopes[2]!)).toMatchObject({ reserved: 12 });
  });
});

describe('the credits of a month', () => {
  const ofNovember = (scope: Scope) => creditsUsed(scope, '2026-11-01');
  const ofDecember = (scope: Scope) => creditsUsed(scope, '2026-12-01');

  test('are those that were settled in it, also where a process is behind', async () => {
    const scope = await newTenant();
    expect(await ofNovember(scope)).toBe(0);
    for (const key of ['first', 'second', 'late', 'third', 'voided']) await reserve(scope, key, 10);
    await settle(scope, 'first', 4);
    await settle(scope, 'second', 10, lastSecond);
    expect([await ofNovember(scope), await ofDecember(scope)]).toEqual([14, 0]);
    await settle(scope, 'third', 7, december);
    await settle(scope, 'late', 9, lastSecond);
    await voidCredits(scope, { key: 'voided' }, december);
    expect([await ofNovember(scope), await ofDecember(scope)]).toEqual([23, 7]);
    expect(await creditsUsed(scope, '2027-01-01')).toBe(0);
  });

  test('are read without the ledger, however many entries it has', async () => {
    const scope = await newTenant();
    await reserve(scope, 'work', 10);
    await settle(scope, 'work', 4);
    await owner.query('begin; lock table credit_entry');
    try {
      expect([await ofNovember(scope), await ofDecember(scope)]).toEqual([4, 0]);
    } finally {
      await owner.query('rollback');
    }
  });
});

describe('when its time is over', () => {
  test('a reservation goes back, once, whichever process sweeps, and can no longer be settled', async () => {
    const over = new Date(november.getTime() + 10 * minute);
    // Ends the reservations of the tests before this one.
    await expireReservations(database, 1_000, over);
    const scope = await newTenant();
    for (let index = 0; index < 5; index++) await reserve(scope, `work ${index}`, 10);
    expect(await expireReservations(database, 100, new Date(over.getTime() - 1))).toBe(0);
    expect(await expireReservations(database, 2, over)).toBe(2);
    const swept = fulfilled(await twenty(() => expireReservations(database, 100, over)));
    expect(swept.reduce((sum, ended) => sum + ended, 0)).toBe(3);
    expect(await balance(scope)).toMatchObject({ balance: 100, reserved: 0 });
    await expect(settle(scope, 'work 0', 10)).rejects.toMatchObject({
      code: 'conflict',
      facts: { key: 'work 0', status: 'expired' },
    });
    expect(await voidCredits(scope, { key: 'work 0' })).toMatchObject({ status: 'expired', charged: 0 });
  });

  test('it can still be settled as long as the sweeper has not come', async () => {
    const scope = await newTenant();
    await reserve(scope, 'work', 10);
    const late = new Date(november.getTime() + 60 * minute);
    expect(await settle(scope, 'work', 10, late)).toMatchObject({ status: 'settled', charged: 10 });
    expect(await expireReservations(database, 100, late)).toBe(0);
  });
});
