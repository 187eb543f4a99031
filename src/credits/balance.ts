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
  if (!state) throw new AppError('not_found', 'The organization does not exist.');
  return state;
}

const sumSpent = statement({
  name: 'credit.spent_between',
  parameters: { from: 'timestamptz', to: 'timestamptz' },
  row: { credits: 'float8' },
  text: `select coalesce(sum(spent), 0)::float8 as credits from credit_entry
    where organization_id = :organizationId and environment = :environment and created_at >= :from
      and created_at < :to and spent > 0`,
});

/** Credits charged from one time (inclusive) to another (exclusive), by the time of settlement. */
export async function creditsUsed(scope: Scope, from: Date, to: Date): Promise<number> {
  return (await scope.one(sumSpent, { from, to }))!.credits;
}
