import { clock } from '../platform/clock.ts';
import type { CountedUse } from '../platform/database/counted-use.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { AppError } from '../platform/errors.ts';
import { keyOfActor } from '../tenancy/index.ts';
import { periodAt } from './core/grants.ts';
import { giveDueGrants } from './grants.ts';

/**
 * Credits reserved for one operation. A reservation ends once: `settled` when the work was done and charged, `voided` when
 * it failed or was cancelled, `expired` when it was not ended in time. Work may only be done while it is `held`.
 */
export interface Reservation {
  key: string;
  operation: string;
  /** The reserved amount. */
  amount: number;
  status: 'held' | 'settled' | 'voided' | 'expired';
  /** Zero unless `settled`. */
  charged: number;
  /** While held: the time after which the sweep expires it. */
  expiresAt: Date | null;
}

interface NewReservation {
  /** The purpose of the credits, as the ledger names it: at most 40 characters. */
  operation: string;
  /** Idempotency key of the operation, unique in its tenant, 1 to 200 characters. Retries use the same key. */
  key: string;
  /** Whole credits, at least 1. Free operations make no reservation. */
  amount: number;
  /** Must be longer than the work with all its retries. */
  expiresInMs: number;
}

// The one statement that every priced request waits for. It locks the account first, so that it sees the current
// credits; the entry's key decides which of two equal requests reserves them. The plan's grant, which lapses, is used
// before credits that stay. PostgreSQL checks a row's constraints before it notices that another transaction has
// changed the row, and then again: so the new row is computed only from the locked row.
const reserve = statement({
  name: 'credit.reserve',
  parameters: {
    key: 'text',
    operation: 'text',
    amount: 'int',
    now: 'timestamptz',
    expiresAt: 'timestamptz',
    period: 'text',
    keyId: 'uuid?',
  },
  row: { current: 'boolean', available: 'float8', reserved: 'boolean' },
  text: `with account as materialized (
     select period, monthly, lasting, held, spent, lapsed, issued,
            period > :period or (period = :period and plan = (select plan from organization
              where id = :organizationId)) as current
       from credit_account where organization_id = :organizationId and environment = :environment for no key update),
   entry as (
     insert into credit_entry (organization_id, environment, key, phase, step, operation,
                               monthly, lasting, held, spent, lapsed, issued, created_at)
     select :organizationId, :environment, :key, 1, 'held', :operation,
            -least(monthly, :amount), least(monthly, :amount) - :amount, :amount, 0, 0, 0, :now
       from account where current and monthly + lasting >= :amount
     on conflict do nothing
     returning monthly, lasting, held),
   hold as (
     insert into credit_hold (organization_id, environment, key, operation, key_id, monthly, lasting, period, expires_at)
     select :organizationId, :environment, :key, :operation, :keyId, -entry.monthly, -entry.lasting, account.period, :expiresAt
       from entry, account),
   moved as (
     update credit_account a
        set monthly = account.monthly + entry.monthly, lasting = account.lasting + entry.lasting,
            held = account.held + entry.held, spent = account.spent, lapsed = account.lapsed, issued = account.issued
       from account, entry where a.organization_id = :organizationId and a.environment = :environment)
   select account.current, (account.monthly + account.lasting)::float8 as available,
          entry.held is not null as reserved
     from account left join entry on true`,
});

const find = statement({
  name: 'credit.reservation',
  parameters: { key: 'text' },
  row: {
    key: 'text',
    operation: 'text',
    amount: 'int',
    status: typed<'held' | 'settled' | 'voided' | 'expired'>('text'),
    charged: 'int',
    expiresAt: 'timestamptz?',
  },
  text: `select opened.key, opened.operation, opened.held as amount, coalesce(ended.step, 'held') as status,
          coalesce(ended.spent, 0) as charged, hold.expires_at as "expiresAt"
     from credit_entry opened
     left join credit_entry ended on ended.organization_id = :organizationId and ended.environment = :environment
       and ended.key = :key
                                 and ended.phase = 2
     left join credit_hold hold on hold.organization_id = :organizationId and hold.environment = :environment
       and hold.key = :key
    where opened.organization_id = :organizationId and opened.environment = :environment and opened.key = :key
      and opened.phase = 1`,
});

/** More lost races than this indicate a bug. */
const attempts = 10;
const tooManyRaces = (key: string) => new Error(`The reservation ${key} could not be decided.`);

const isCredits = (amount: number, least: number) =>
  Number.isInteger(amount) && amount >= least && amount <= 1_000_000_000;

/**
 * Reserves credits before work begins. The same key returns the same reservation in its current state. Inside the caller's
 * transaction it commits with it, and the tenant's account stays locked until then.
 * @throws AppError insufficient_credits with facts `{required, available}`; conflict when the key was used for another
 * operation or amount. RangeError for an invalid amount.
 */
export async function reserveCredits(
  scope: Scope,
  { operation, key, amount, expiresInMs }: NewReservation,
  now = clock.date(),
): Promise<Reservation> {
  if (!isCredits(amount, 1)) throw new RangeError(`Not an amount to reserve: ${amount}`);
  if (!(expiresInMs > 0)) throw new RangeError(`Not a time to keep a reservation: ${expiresInMs}`);
  const expiresAt = new Date(now.getTime() + expiresInMs);
  const period = periodAt(scope.tenant.environment, now);
  const keyId = keyOfActor(scope.actor);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const account = await scope.one(reserve, { key, operation, amount, now, expiresAt, period, keyId });
    if (account?.reserved) return { key, operation, amount, status: 'held', charged: 0, expiresAt };
    const earlier = await scope.one(find, { key });
    if (earlier) return same(earlier, operation, amount);
    // A plan grant is due: there is no account yet, a new month has begun, or the plan is larger.
    if (await giveDueGrants(scope, now)) continue;
    if (account?.current && account.available < amount) throw insufficient(amount, account.available);
  }
  throw tooManyRaces(key);
}

function same(earlier: Reservation, operation: string, amount: number): Reservation {
  if (earlier.operation === operation && earlier.amount === amount) return earlier;
  throw new AppError('conflict', 'This key was used for another reservation.', { key: earlier.key });
}

const insufficient = (required: number, available: number) =>
  new AppError('insufficient_credits', `This costs ${required} credits, and ${available} are available.`, {
    required,
    available,
  });

const chargedCredits = (operation: string, credits: number, keyId: string | null): CountedUse[] => [
  { by: 'kind', value: operation, credits },
  ...(keyId === null ? [] : [{ by: 'key' as const, value: keyId, credits }]),
];

// Deleting the hold decides which transaction ends the reservation. Unused credits return to their account, except that
// a plan grant expires with its month. What is charged late, for a month that is over, is no part of the latest one.
const end = statement({
  name: 'credit.end',
  parameters: { key: 'text', amount: 'int', status: 'text', now: 'timestamptz' },
  row: { operation: 'text', amount: 'int', charged: 'int', keyId: 'uuid?' },
  counts: ({ operation, charged, keyId }) => (charged > 0 ? chargedCredits(operation, charged, keyId) : []),
  text: `with hold as (
     delete from credit_hold where organization_id = :organizationId and environment = :environment and key = :key
     returning operation, key_id, monthly, lasting, period,
               date_trunc('month', :now at time zone 'UTC')::date as month),
   used as (
     select *, least(:amount, monthly) as used_monthly,
            least(:amount - least(:amount, monthly), lasting) as used_lasting
       from hold),
   back as (
     select *, monthly - used_monthly as back_monthly, lasting - used_lasting as back_lasting,
            used_monthly + used_lasting as charged
       from used),
   moved as (
     update credit_account a
        set held = a.held - b.monthly - b.lasting, spent = a.spent + b.charged, lasting = a.lasting + b.back_lasting,
            monthly = a.monthly + case when a.period = b.period then b.back_monthly else 0 end,
            lapsed = a.lapsed + case when a.period = b.period then 0 else b.back_monthly end,
            spent_month = greatest(a.spent_month, b.month),
            spent_before = case when a.spent_month = b.month then a.spent_before
              when a.spent_month > b.month then a.spent_before + b.charged else a.spent end
       from back b where a.organization_id = :organizationId and a.environment = :environment
     returning b.*, case when a.period = b.period then b.back_monthly else 0 end as kept_monthly)
   insert into credit_entry (organization_id, environment, key, phase, step, operation,
                             monthly, lasting, held, spent, lapsed, issued, created_at)
   select :organizationId, :environment, :key, 2, :status, operation,
          kept_monthly, back_lasting, -monthly - lasting, charged, back_monthly - kept_monthly, 0, :now
     from moved
   returning operation, -held as amount, spent as charged, (select key_id from hold) as "keyId"`,
});

/** Ends a reservation, or returns it as it ended before; undefined if it never existed. */
async function endReservation(
  scope: Scope,
  key: string,
  amount: number,
  status: 'settled' | 'voided',
  now: Date,
): Promise<Reservation | undefined> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const ended = await scope.one(end, { key, amount, status, now });
    if (ended) {
      const { operation, amount: reserved, charged } = ended;
      return { key, operation, amount: reserved, status, charged, expiresAt: null };
    }
    const earlier = await scope.one(find, { key });
    if (earlier?.status !== 'held') return earlier;
  }
  throw tooManyRaces(key);
}

/**
 * Charges the used credits and returns the rest; never charges more than was reserved. A settled or voided reservation is
 * returned unchanged. An overdue reservation can be settled until the sweep has expired it.
 * @throws AppError conflict with facts `{key, status: 'expired'}`: the credits were returned, and nothing was charged.
 * not_found when the key has no reservation. RangeError for an invalid amount.
 */
export async function settleCredits(
  scope: Scope,
  { key, amount }: { key: string; amount: number },
  now = clock.date(),
): Promise<Reservation> {
  if (!isCredits(amount, 0)) throw new RangeError(`Not an amount to charge: ${amount}`);
  const reservation = await endReservation(scope, key, amount, 'settled', now);
  if (!reservation) throw new AppError('not_found', 'There is no reservation with this key.', { key });
  if (reservation.status === 'expired') {
    throw new AppError('conflict', 'The reservation has expired.', { key, status: 'expired' });
  }
  return reservation;
}

/**
 * Returns all credits of work that failed or was cancelled. A reservation that has ended is returned unchanged.
 * @returns undefined when the key has no reservation, so that a step of unknown outcome can be undone
 */
export const voidCredits = (
  scope: Scope,
  { key }: { key: string },
  now = clock.date(),
): Promise<Reservation | undefined> => endReservation(scope, key, 0, 'voided', now);

/** Returns all credits of an overdue reservation. Called by the sweep. @returns false if it had already ended */
export const expireCredits = async (scope: Scope, key: string, now: Date): Promise<boolean> =>
  (await scope.one(end, { key, amount: 0, status: 'expired', now })) !== undefined;
