import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { findLedgerFaults } from '../../src/credits/audit.ts';
import { creditBalance, creditsUsed } from '../../src/credits/balance.ts';
import { expireReservations } from '../../src/credits/expiry.ts';
import { grantCredits, setMonthlyGrant } from '../../src/credits/grants.ts';
import { type Reservation, reserveCredits, settleCredits, voidCredits } from '../../src/credits/reservations.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { AppError } from '../../src/platform/errors.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { type PlanName, planNames } from '../../src/tenancy/core/plans.ts';
import { createOrganization, updateOrganization } from '../../src/tenancy/organizations.ts';
import { ModelLedger } from '../credits/model.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';
import { seed } from './seed.ts';

let files: TestDatabase;
let database: Database;
beforeAll(async () => {
  files = await createTestDatabase();
  database = await openTestDatabase(files.url, 20);
});
afterAll(async () => {
  await database.close();
  await files.drop();
});

const hour = 3_600_000;
const start = Date.parse('2026-11-20T12:00:00.000Z');
const environments = ['live', 'test'] as const;
type Which = (typeof environments)[number];

interface Model {
  now: number;
  live: ModelLedger;
  test: ModelLedger;
}
interface Real {
  organizationId: string;
  live: Scope;
  test: Scope;
}

async function newTenant(plan: PlanName): Promise<Real> {
  const { id } = await createOrganization(database, { name: 'Sequence', plan });
  const organizationId = organizationIds.parse(id)!;
  const scope = (environment: Which) => new Scope(database, { organizationId, environment }, 'sequence');
  return { organizationId, live: scope('live'), test: scope('test') };
}

const monthOf = (time: Date) => `${time.toISOString().slice(0, 7)}-01`;

/** Both environments have what the model says, to the credit. */
async function compare(model: Model, real: Real): Promise<void> {
  const now = new Date(model.now);
  for (const environment of environments) {
    const ledger = model[environment];
    ledger.look(now);
    const { available, reserved, monthlyGrant } = ledger;
    const seen = await creditBalance(real[environment], now);
    expect(seen).toMatchObject({ available, reserved, balance: available + reserved, monthlyGrant });
  }
}

const step = (label: string, run: (model: Model, real: Real) => Promise<void>): fc.AsyncCommand<Model, Real> => ({
  check: () => true,
  async run(model, real) {
    await run(model, real);
    await compare(model, real);
  },
  toString: () => label,
});

const codeOf = (error: unknown) => {
  if (error instanceof AppError) return error.code;
  throw error;
};
const outcome = (reservation: Reservation | string | undefined) =>
  typeof reservation === 'object' ? { status: reservation.status, charged: reservation.charged } : reservation;

const reserve = (which: Which, key: string, operation: string, amount: number, hours: number, behind: number) =>
  step(
    `reserve ${which} ${key} ${operation} ${amount} for ${hours} h, clock ${behind} h behind`,
    async (model, real) => {
      const now = new Date(model.now - behind * hour);
      const request = { operation, key, amount, expiresInMs: hours * hour };
      const expected = model[which].reserve(key, operation, amount, new Date(now.getTime() + hours * hour), now);
      const made = await reserveCredits(real[which], request, now).catch(codeOf);
      expect(outcome(made)).toEqual(
        typeof expected === 'string' ? expected : outcome({ key, ...expected } as Reservation),
      );
      if (typeof made === 'object' && typeof expected === 'object') {
        expect(made.expiresAt).toEqual(expected.status === 'held' ? expected.expiresAt : null);
      }
    },
  );

const settle = (which: Which, key: string, amount: number) =>
  step(`settle ${which} ${key} ${amount}`, async (model, real) => {
    const now = new Date(model.now);
    const expected = model[which].end(key, 'settled', amount, now);
    const settled = await settleCredits(real[which], { key, amount }, now).catch(codeOf);
    if (!expected) expect(settled).toBe('not_found');
    else if (expected.status === 'expired') expect(settled).toBe('conflict');
    else expect(outcome(settled)).toEqual({ status: expected.status, charged: expected.charged });
  });

const undo = (which: Which, key: string) =>
  step(`void ${which} ${key}`, async (model, real) => {
    const now = new Date(model.now);
    const expected = model[which].end(key, 'voided', 0, now);
    const voided = await voidCredits(real[which], { key }, now);
    expect(outcome(voided)).toEqual(expected && { status: expected.status, charged: expected.charged });
  });

const sweep = () =>
  step('sweep', async (model) => {
    const now = new Date(model.now);
    for (const environment of environments) model[environment].sweep(100, now);
    await expireReservations(database, 100, now);
  });

const pass = (hours: number) =>
  step(`${hours} h pass`, async (model) => {
    model.now += hours * hour;
  });

const grant = (which: Which, amount: number) =>
  step(`grant ${which} ${amount}`, async (model, real) => {
    model[which].grant(amount);
    await grantCredits(
      database,
      { organizationId: real.organizationId, environment: which, amount },
      new Date(model.now),
    );
  });

const changePlan = (plan: PlanName) =>
  step(`plan ${plan}`, async (model, real) => {
    for (const environment of environments) model[environment].plan = plan;
    await updateOrganization(database, real.organizationId, { plan });
  });

const ownGrant = (credits: number | null) =>
  step(`own grant ${credits}`, async (model, real) => {
    model.live.ownGrant = credits;
    await setMonthlyGrant(database, real.organizationId, credits, new Date(model.now));
  });

test('any sequence of steps in any order of months leaves what a plain model says', async () => {
  const which = fc.constantFrom(...environments);
  const key = fc.nat(7).map((number) => `work ${number}`);
  const operation = fc.constantFrom('chat', 'image');
  // Few values, so that a retry with the same amount is as likely as one with another.
  const amount = fc.constantFrom(1, 7, 40, 95, 3_000, 9_999);
  const behind = fc.oneof({ arbitrary: fc.constant(0), weight: 5 }, { arbitrary: fc.nat(30 * 24), weight: 1 });
  const hours = fc.oneof(fc.nat(3), fc.nat(24 * 20));
  const commands = fc.commands(
    [
      fc.tuple(which, key, operation, amount, fc.integer({ min: 1, max: 400 }), behind).map((of) => reserve(...of)),
      fc.tuple(which, key, operation, amount, fc.integer({ min: 1, max: 400 }), behind).map((of) => reserve(...of)),
      fc.tuple(which, key, fc.nat(120)).map((of) => settle(...of)),
      fc.tuple(which, key).map((of) => undo(...of)),
      fc.constant(sweep()),
      hours.map(pass),
      fc.tuple(which, fc.integer({ min: 1, max: 500 })).map((of) => grant(...of)),
      fc.constantFrom(...planNames).map(changePlan),
      fc.option(fc.nat(20_000)).map(ownGrant),
    ],
    { maxCommands: 40, size: 'max' },
  );
  await fc.assert(
    fc.asyncProperty(commands, fc.constantFrom(...planNames), async (chosen, plan) => {
      const real = await newTenant(plan);
      const model = { now: start, live: new ModelLedger('live', plan), test: new ModelLedger('test', plan) };
      await fc.asyncModelRun(() => ({ model, real }), chosen);

      for (const environment of environments) {
        const { charges } = model[environment];
        const spent = new Map<string, number>();
        for (const { at, credits } of charges) spent.set(monthOf(at), (spent.get(monthOf(at)) ?? 0) + credits);
        for (const month of [monthOf(new Date(start)), monthOf(new Date(model.now)), ...spent.keys()]) {
          expect(await creditsUsed(real[environment], month)).toBe(spent.get(month) ?? 0);
        }
      }
      // Every reservation ends in the end.
      model.now += 1_000 * 24 * hour;
      const ended = new Date(model.now);
      for (const environment of environments) model[environment].sweep(100, ended);
      await expireReservations(database, 1_000, ended);
      await compare(model, real);
      expect(await findLedgerFaults(database)).toEqual([]);
    }),
    { numRuns: 25, seed },
  );
});

interface Act {
  kind: 'reserve' | 'settle' | 'void' | 'sweep' | 'balance';
  key: number;
  amount: number;
}

test('whatever happens at once, each credit is spent once and each reservation ends once', async () => {
  const act: fc.Arbitrary<Act> = fc.record({
    kind: fc.constantFrom('reserve', 'reserve', 'settle', 'void', 'sweep', 'balance'),
    key: fc.nat(9),
    amount: fc.integer({ min: 1, max: 30 }),
  });
  const rounds = fc.array(fc.array(act, { minLength: 20, maxLength: 20 }), { minLength: 2, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(rounds, fc.nat(60), async (chosen, granted) => {
      const { live: scope, organizationId } = await newTenant('free');
      if (granted > 0) await grantCredits(database, { organizationId, environment: 'live', amount: granted });
      const ends = new Map<string, Set<string>>();
      const saw = (reservation: Reservation | string | undefined) => {
        if (typeof reservation !== 'object' || reservation.status === 'held') return;
        const seen = ends.get(reservation.key) ?? new Set();
        ends.set(reservation.key, seen.add(`${reservation.status} ${reservation.charged}`));
      };
      let now = start;
      for (const acts of chosen) {
        const at = new Date(now);
        const perform = async ({ kind, key: number, amount }: Act) => {
          // The amount belongs to the key: retries of one piece of work are alike.
          const key = `work ${number}`;
          const request = { operation: 'chat', key, amount: 5 + 3 * number, expiresInMs: 5 * 24 * hour } as const;
          if (kind === 'reserve') saw(await reserveCredits(scope, request, at).catch(codeOf));
          if (kind === 'settle') saw(await settleCredits(scope, { key, amount }, at).catch(codeOf));
          if (kind === 'void') saw(await voidCredits(scope, { key }, at));
          if (kind === 'sweep') await expireReservations(database, 5, at);
          if (kind === 'balance') await creditBalance(scope, at);
        };
        await Promise.all(acts.map(perform));
        // The third round is in another month.
        now += 6 * 24 * hour;
      }
      expect([...ends.values()].filter((seen) => seen.size > 1)).toEqual([]);
      while ((await expireReservations(database, 100, new Date(now + 6 * 24 * hour))) > 0);
      const charged = [...ends.values()].flatMap((seen) => [...seen]).map((seen) => Number(seen.split(' ')[1]));
      const used = (await creditsUsed(scope, '2026-11-01')) + (await creditsUsed(scope, '2026-12-01'));
      expect(used).toBe(charged.reduce((sum, credits) => sum + credits, 0));
      expect((await creditBalance(scope, new Date(now))).reserved).toBe(0);
      expect(await findLedgerFaults(database)).toEqual([]);
    }),
    // A race is not made smaller by making its list shorter.
    { numRuns: 25, seed, endOnFailure: true },
  );
});
