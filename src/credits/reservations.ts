import { AppError } from '../platform/errors.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { periodAt } from './core/grants.ts';
import type { Operation } from './core/pricing.ts';
import { giveDueGrants } from './grants.ts';

/**
 * Credits set aside for one piece of work. It ends once: `settled` when the work was done and `charged`, `voided` when it
 * came to nothing, `expired` when nobody ended it in time. Work may be done while it is `held`, and only then.
 */
export interface Reservation {
  key: string;
  operation: Operation;
  /** What was set aside, whatever became of it. */
  amount: number;
  status: 'held' | 'settled' | 'voided' | 'expired';
  /** Zero unless settled. */
  charged: number;
  /** While held: when the sweeper may end it. */
  expiresAt: Date | null;
}

export interface NewReservation {
  operation: Operation;
  /** Names the piece of work, for ever, and within its tenant: 1 to 200 characters. A retry of the work has the same. */
  key: string;
  /** Whole credits, at least 1: what costs nothing is not reserved. */
  amount: number;
  /** Longer than the work can take with all its retries. */
  expiresInMs: number;
}

// The one statement that every priced request waits for. It locks the account first, so that the credits it sees are the
// credits there are; the entry's key decides which of two equal requests does it. The plan's grant, which lapses, is
// taken before credits that stay. PostgreSQL checks a row's constraints before it notices that another transaction has
// changed the row, and then again: so the new row is made of what the lock saw, and of nothing that may be outdated.
const reserve = statement<{ current: boolean; available: number; reserved: boolean }>(
  'credit.reserve',
  `with account as materialized (
     select period, monthly, lasting, held, spent, lapsed, issued,
            period > $8::text or (period = $8 and plan = (select plan from organization where id = $1)) as current
       from credit_account where organization_id = $1 and environment = $2 for no key update),
   entry as (
     insert into credit_entry (organization_id, environment, key, phase, step, operation,
                               monthly, lasting, held, spent, lapsed, issued, created_at)
     select $1::uuid, $2::text, $3::text, 1, 'held', $4::text,
            -least(monthly, $5::int), least(monthly, $5) - $5, $5, 0, 0, 0, $6::timestamptz
       from account where current and monthly + lasting >= $5
     on conflict do nothing
     returning monthly, lasting, held),
   hold as (
     insert into credit_hold (organization_id, environment, key, operation, monthly, lasting, period, expires_at)
     select $1::uuid, $2::text, $3::text, $4::text, -entry.monthly, -entry.lasting, account.period, $7::timestamptz
       from entry, account),
   moved as (
     update credit_account a
        set monthly = account.monthly + entry.monthly, lasting = account.lasting + entry.lasting,
            held = account.held + entry.held, spent = account.spent, lapsed = account.lapsed, issued = account.issued
       from account, entry where a.organization_id = $1 and a.environment = $2)
   select account.current, (account.monthly + account.lasting)::float8 as available,
          entry.held is not null as reserved
     from account left join entry on true`,
);

const find = statement<Reservation>(
  'credit.reservation',
  `select opened.key, opened.operation, opened.held as amount, coalesce(ended.step, 'held') as status,
          coalesce(ended.spent, 0) as charged, hold.expires_at as "expiresAt"
     from credit_entry opened
     left join credit_entry ended on ended.organization_id = $1 and ended.environment = $2 and ended.key = $3
                                 and ended.phase = 2
     left join credit_hold hold on hold.organization_id = $1 and hold.environment = $2 and hold.key = $3
    where opened.organization_id = $1 and opened.environment = $2 and opened.key = $3 and opened.phase = 1`,
);

/** Enough for any sequence of lost races that ends; more of them would be a fault of ours. */
const attempts = 10;
const tooManyRaces = (key: string) => new Error(`The reservation ${key} could not be decided.`);

const isCredits = (amount: number, least: number) =>
  Number.isInteger(amount) && amount >= least && amount <= 1_000_000_000;

/**
 * Sets credits aside before work begins. The same key again gives the same reservation, in whatever state it is by then.
 * Inside the caller's transaction it commits with it, and the tenant's account is locked until then.
 * @throws AppError insufficient_credits with facts `{required, available}`; conflict when the key stands for another
 * operation or amount. RangeError for what is no amount.
 */
export async function reserveCredits(
  scope: Scope,
  { operation, key, amount, expiresInMs }: NewReservation,
  now = new Date(),
): Promise<Reservation> {
  if (!isCredits(amount, 1)) throw new RangeError(`Not an amount to reserve: ${amount}`);
  if (!(expiresInMs > 0)) throw new RangeError(`Not a time to keep a reservation: ${expiresInMs}`);
  const expiresAt = new Date(now.getTime() + expiresInMs);
  const period = periodAt(scope.tenant.environment, now);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const account = await scope.one(reserve, key, operation, amount, now, expiresAt, period);
    if (account?.reserved) return { key, operation, amount, status: 'held', charged: 0, expiresAt };
    const earlier = await scope.one(find, key);
    if (earlier) return same(earlier, operation, amount);
    // Without an account, in a new month, or when the plan has grown: there is more than the account says.
    if (await giveDueGrants(scope, now)) continue;
    if (account?.current && account.available < amount) throw insufficient(amount, account.available);
  }
  throw tooManyRaces(key);
}

function same(earlier: Reservation, operation: Operation, amount: number): Reservation {
  if (earlier.operation === operation && earlier.amount === amount) return earlier;
  throw new AppError('conflict', 'This key stands for another reservation.', { key: earlier.key });
}

const insufficient = (required: number, available: number) =>
  new AppError('insufficient_credits', `This costs ${required} credits, and ${available} are available.`, {
    required,
    available,
  });

// Deleting the hold decides who ends the reservation. What was not used goes back where it came from, except that a
// plan's grant does not outlive its month.
const end = statement<Pick<Reservation, 'operation' | 'amount' | 'charged'>>(
  'credit.end',
  `with hold as (
     delete from credit_hold where organization_id = $1 and environment = $2 and key = $3
     returning operation, monthly, lasting, period),
   used as (
     select *, least($4::int, monthly) as used_monthly, least($4 - least($4, monthly), lasting) as used_lasting from hold),
   back as (
     select *, monthly - used_monthly as back_monthly, lasting - used_lasting as back_lasting,
            used_monthly + used_lasting as charged
       from used),
   moved as (
     update credit_account a
        set held = a.held - b.monthly - b.lasting, spent = a.spent + b.charged, lasting = a.lasting + b.back_lasting,
            monthly = a.monthly + case when a.period = b.period then b.back_monthly else 0 end,
            lapsed = a.lapsed + case when a.period = b.period then 0 else b.back_monthly end
       from back b where a.organization_id = $1 and a.environment = $2
     returning b.*, case when a.period = b.period then b.back_monthly else 0 end as kept_monthly)
   insert into credit_entry (organization_id, environment, key, phase, step, operation,
                             monthly, lasting, held, spent, lapsed, issued, created_at)
   select $1::uuid, $2::text, $3::text, 2, $5::text, operation,
          kept_monthly, back_lasting, -monthly - lasting, charged, back_monthly - kept_monthly, 0, $6::timestamptz
     from moved
   returning operation, -held as amount, spent as charged`,
);

/** Ends a reservation, or says how it ended before; undefined when there never was one. */
async function endReservation(
  scope: Scope,
  key: string,
  amount: number,
  status: 'settled' | 'voided',
  now: Date,
): Promise<Reservation | undefined> {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const ended = await scope.one(end, key, amount, status, now);
    if (ended) return { key, ...ended, status, expiresAt: null };
    const earlier = await scope.one(find, key);
    if (earlier?.status !== 'held') return earlier;
  }
  throw tooManyRaces(key);
}

/**
 * Charges what was used and gives back the rest; never charges more than was reserved. A reservation that has ended
 * stays as it is: one that was settled or voided is returned as it was then. A reservation past its time can be settled
 * until the sweeper has ended it.
 * @throws AppError conflict with facts `{key, status: 'expired'}`: the credits went back, and nothing was charged.
 * not_found when nothing was reserved under this key. RangeError for what is no amount.
 */
export async function settleCredits(
  scope: Scope,
  { key, amount }: { key: string; amount: number },
  now = new Date(),
): Promise<Reservation> {
  if (!isCredits(amount, 0)) throw new RangeError(`Not an amount to charge: ${amount}`);
  const reservation = await endReservation(scope, key, amount, 'settled', now);
  if (!reservation) throw new AppError('not_found', 'Nothing was reserved under this key.', { key });
  if (reservation.status === 'expired') {
    throw new AppError('conflict', 'The reservation has expired.', { key, status: 'expired' });
  }
  return reservation;
}

/**
 * Gives everything back: the work failed or was cancelled. A reservation that has ended stays as it is, and is returned.
 * @returns undefined when nothing was ever reserved under this key, so that it can undo a step of unknown outcome
 */
export const voidCredits = (
  scope: Scope,
  { key }: { key: string },
  now = new Date(),
): Promise<Reservation | undefined> => endReservation(scope, key, 0, 'voided', now);

/** Gives everything back because its time is over: the sweeper's. @returns false when it had ended by then */
export const expireCredits = async (scope: Scope, key: string, now: Date): Promise<boolean> =>
  (await scope.one(end, key, 0, 'expired', now)) !== undefined;
