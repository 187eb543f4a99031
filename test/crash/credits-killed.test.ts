import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { findLedgerFaults } from '../../src/credits/audit.ts';
import { creditBalance, creditsUsed } from '../../src/credits/balance.ts';
import { expireReservations } from '../../src/credits/expiry.ts';
import { grantCredits } from '../../src/credits/grants.ts';
import { reserveCredits, settleCredits } from '../../src/credits/reservations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { compileCache } from '../servers.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { until } from '../until.ts';
import type { Said } from './credit-spender.ts';

let files: TestDatabase;
let database: Database;
/** Sees everybody's sessions. */
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

async function newTenant(): Promise<Scope> {
  const { id } = await createOrganization(database, { name: 'Killed', plan: 'free' });
  return new Scope(database, { organizationId: organizationIds.parse(id)!, environment: 'live' }, 'test');
}

/** Lets a process spend until it has said so much, kills it at once, and returns what it said. */
async function spendAndDie(scope: Scope, name: string, words: number, mode = 'settle'): Promise<Said[]> {
  const program = fileURLToPath(new URL('./credit-spender.ts', import.meta.url));
  const url = new URL(files.url);
  url.searchParams.set('application_name', 'spender');
  const child = fork(program, [url.href, scope.tenant.organizationId, name, mode], {
    env: { NODE_COMPILE_CACHE: compileCache },
  });
  const said: Said[] = [];
  const ended = once(child, 'exit');
  child.on('message', (message: Said) => {
    said.push(message);
    if (said.length === words) child.kill('SIGKILL');
  });
  await ended;
  expect(child.signalCode).toBe('SIGKILL');
  return said;
}

/** PostgreSQL finishes what a killed client had sent; until then nothing is at rest. */
const untilGone = () =>
  until('the killed process has left the database', async () => {
    const { rows } = await owner.query(
      `select count(*)::int as sessions from pg_stat_activity
        where datname = current_database() and application_name = 'spender'`,
    );
    return rows[0].sessions === 0;
  });

const thisMonth = () => `${new Date().toISOString().slice(0, 7)}-01`;
const later = () => new Date(Date.now() + 3_600_000);
const keys = (said: Said[], state: Said[1]) => said.filter(([, one]) => one === state).map(([key]) => key);

test('killed between reserving and settling: the work can be done by another, or else the credits come back', async () => {
  const scope = await newTenant();
  const said = await spendAndDie(scope, 'dead', 5, 'only-reserve');
  await untilGone();
  expect(keys(said, 'held')).toHaveLength(5);
  expect(await creditBalance(scope)).toMatchObject({ reserved: 15, available: 85 });

  // A retry of the work reserves under the same key, and continues with the existing reservation.
  const key = said[0]![0];
  const again = await reserveCredits(scope, { operation: 'chat', key, amount: 3, expiresInMs: 60_000 });
  expect(again.status).toBe('held');
  await settleCredits(scope, { key, amount: 2 });
  expect(await creditBalance(scope)).toMatchObject({ reserved: 12, available: 86 });

  expect(await expireReservations(database, 100)).toBe(0);
  expect(await expireReservations(database, 100, later())).toBe(4);
  expect(await creditBalance(scope)).toMatchObject({ balance: 98, reserved: 0 });
});

test('killed at any moment: what it said is so, nothing was charged twice, and nothing stays reserved', async () => {
  const scope = await newTenant();
  const { organizationId } = scope.tenant;
  await grantCredits(database, { organizationId, environment: 'live', amount: 10_000 });
  const begun = thisMonth();
  const said: Said[] = [];
  for (const [life, words] of [1, 7, 16, 40, 83].entries()) {
    said.push(...(await spendAndDie(scope, `life ${life}`, words)));
  }
  await untilGone();
  await expireReservations(database, 1_000, later());

  const { rows } = await database.pool.query<{ key: string; step: string; spent: number }>(
    'select key, step, spent from credit_entry where organization_id = $1 and phase = 2',
    [organizationId],
  );
  const settled = rows.filter(({ step }) => step === 'settled');
  const ended = new Set(rows.map(({ key }) => key));
  expect(settled.map(({ spent }) => spent)).toEqual(settled.map(() => 2));
  expect(keys(said, 'settled').filter((key) => !settled.some((one) => one.key === key))).toEqual([]);
  expect(keys(said, 'held').filter((key) => !ended.has(key))).toEqual([]);
  // The month may have ended meanwhile.
  const months = [...new Set([begun, thisMonth()])];
  const used = (await Promise.all(months.map((month) => creditsUsed(scope, month)))).reduce((sum, one) => sum + one, 0);
  expect(used).toBe(2 * settled.length);
  expect(await creditBalance(scope)).toMatchObject({ balance: 10_100 - used, reserved: 0 });
  expect(await findLedgerFaults(database)).toEqual([]);
});
