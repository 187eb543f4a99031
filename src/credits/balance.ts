import { clock } from '../platform/clock.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError } from '../platform/errors.ts';
import { currentGrant, isGrantDue, monthlyGrant, nextGrantAt } from './core/grants.ts';
import { type AccountState, giveDueGrants, readAccountState } from './grants.ts';

/** Whole credits. */
interface CreditBalance {
  /** The sum of `available` and `reserved`. */
  balance: number;
  /** Reserved for work in progress. */
  reserved: number;
  /** Available for new work. */
  available: number;
  /** The plan's monthly grant; 0 in the test environment, which gets one grant only. */
  monthlyGrant: number;
  nextGrantAt: Date | null;
}

/** A tenant's credits, after applying due grants. @throws AppError not_found (no such organization) */
export async function creditBalance(scope: Scope, now = clock.date()): Promise<CreditBalance> {
  let state = await mustRead(scope);
  if (isGrantDue(state.given, state.standing, currentGrant(state.standing, now))) {
    await giveDueGrants(scope, now);
    state = await mustRead(scope);
  }
  const { standing, available, reserved } = state;
  return {
    balance: available + reserved,
    reserved,
    available,
    monthlyGrant: monthlyGrant(standing),
    nextGrantAt: nextGrantAt(standing.environment, now),
  };
}

async function mustRead(scope: Scope): Promise<AccountState> {
  const state = await readAccountState(scope);
  if (!state) throw new AppError('not_found', 'The organization does not exist.');
  return state;
}

const findSpent = statement({
  name: 'credit.spent_in_month',
  parameters: { month: 'date' },
  // Null for a month before the latest one in which a reservation ended.
  row: { credits: 'float8?' },
  text: `select case when spent_month > :month then null
               when spent_month = :month then spent - spent_before else 0 end::float8 as credits
     from credit_account where organization_id = :organizationId and environment = :environment`,
});

const sumSpent = statement({
  name: 'credit.sum_spent',
  parameters: { month: 'date' },
  row: { credits: 'float8' },
  text: `select coalesce(sum(spent), 0)::float8 as credits from credit_entry
    where organization_id = :organizationId and environment = :environment and spent > 0
      and created_at >= :month::timestamp at time zone 'UTC'
      and created_at < (:month::timestamp + interval '1 month') at time zone 'UTC'`,
});

/**
 * Credits charged in a UTC month, by the time of settlement. The account has those of the latest month; the ledger is
 * summed only where the next month has begun meanwhile, or has begun by another clock.
 * @param month its first day, `YYYY-MM-DD`
 */
export async function creditsUsed(scope: Scope, month: string): Promise<number> {
  const account = await scope.one(findSpent, { month });
  if (!account) return 0;
  return account.credits ?? (await scope.one(sumSpent, { month }))!.credits;
}
