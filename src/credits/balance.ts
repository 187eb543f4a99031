import { AppError } from '../platform/errors.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { currentGrant, isGrantDue, monthlyGrant, nextGrantAt } from './core/grants.ts';
import { type AccountState, giveDueGrants, readAccountState } from './grants.ts';

/** Whole credits. */
export interface CreditBalance {
  /** Everything the organization has: `available` and `reserved` together. */
  balance: number;
  /** Set aside for work that is going on. */
  reserved: number;
  /** What new work can be paid with. */
  available: number;
  /** What the plan gives every month; 0 in the test environment, whose grant comes once. */
  monthlyGrant: number;
  nextGrantAt: Date | null;
}

/** A tenant's credits, with everything given that is due. @throws AppError not_found (no such organization) */
export async function creditBalance(scope: Scope, now = new Date()): Promise<CreditBalance> {
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
  if (!state) throw new AppError('not_found', 'There is no such organization.');
  return state;
}

const sumSpent = statement<{ credits: number }>(
  'credit.spent_between',
  `select coalesce(sum(spent), 0)::float8 as credits from credit_entry
    where organization_id = $1 and environment = $2 and created_at >= $3 and created_at < $4 and spent > 0`,
);

/** Credits charged from one moment until before another. Work counts when it was settled. */
export async function creditsUsed(scope: Scope, from: Date, to: Date): Promise<number> {
  return (await scope.one(sumSpent, from, to))!.credits;
}
