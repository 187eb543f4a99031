import type { PlanName } from '../../tenancy/core/plans.ts';
import { creditLimits } from './limits.ts';

/** Grant of the test environment. It is given once and does not expire. */
const testGrant = 10_000;

/** The recipient of grants: an organization's plan, and its override if an operator set one. */
export interface Standing {
  environment: 'live' | 'test';
  plan: PlanName;
  ownGrant: number | null;
}

/** The plan grant that is due now. */
export interface Grant {
  /** `2026-11`, or `once`. Periods sort by time. */
  period: string;
  amount: number;
  /** Whether it remains after its period. */
  lasts: boolean;
}

/** Credits per UTC month. An Enterprise organization can override its number. Zero in the test environment, which gets one grant only. */
export function monthlyGrant({ environment, plan, ownGrant }: Standing): number {
  if (environment === 'test') return 0;
  const monthlyCredits = creditLimits.monthlyCredits.of(plan);
  return plan === 'enterprise' ? (ownGrant ?? monthlyCredits) : monthlyCredits;
}

export function currentGrant(standing: Standing, now: Date): Grant {
  if (standing.environment === 'test') return { period: 'once', amount: testGrant, lasts: true };
  return { period: periodAt('live', now), amount: monthlyGrant(standing), lasts: false };
}

/** The current period of grants. */
export const periodAt = (environment: 'live' | 'test', now: Date): string =>
  environment === 'test' ? 'once' : now.toISOString().slice(0, 7);

/** Time of the next plan grant: the start of the next UTC month; null in the test environment. */
export const nextGrantAt = (environment: 'live' | 'test', now: Date): Date | null =>
  environment === 'test' ? null : new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));

/** The latest plan grant of an account. */
export interface GivenGrant {
  plan: PlanName;
  period: string;
  periodGrant: number;
}

/**
 * Whether a plan grant is due before credits are spent. A larger plan within the month adds the difference, a smaller one
 * takes nothing back. A clock that is behind does not grant an earlier month again.
 */
export function isGrantDue(given: GivenGrant | undefined, { plan }: Standing, grant: Grant): boolean {
  if (given === undefined || given.period < grant.period) return true;
  return given.period === grant.period && (given.plan !== plan || given.periodGrant < grant.amount);
}
