import type { PlanName } from '../../tenancy/core/plans.ts';

/** Credits of a plan for one UTC month. An Enterprise organization may have a number of its own. */
export const monthlyGrants: Record<PlanName, number> = { free: 100, pro: 1_000, team: 5_000, enterprise: 10_000 };

/** For trying things out in the test environment: given once, and never lapsing. */
export const testGrant = 10_000;

/** Who gets credits: an organization's plan, and its own number where an operator set one. */
export interface Standing {
  environment: 'live' | 'test';
  plan: PlanName;
  ownGrant: number | null;
}

/** What an organization is to have been given by now. */
export interface Grant {
  /** `2026-11`, or `once`. Later periods sort behind earlier ones. */
  period: string;
  amount: number;
  /** Whether it stays when its period is over. */
  lasts: boolean;
}

/** Credits a month. Zero in the test environment, whose grant comes once. */
export function monthlyGrant({ environment, plan, ownGrant }: Standing): number {
  if (environment === 'test') return 0;
  return plan === 'enterprise' ? (ownGrant ?? monthlyGrants.enterprise) : monthlyGrants[plan];
}

export function currentGrant(standing: Standing, now: Date): Grant {
  if (standing.environment === 'test') return { period: 'once', amount: testGrant, lasts: true };
  return { period: periodAt('live', now), amount: monthlyGrant(standing), lasts: false };
}

/** The period that a grant given now is for. */
export const periodAt = (environment: 'live' | 'test', now: Date): string =>
  environment === 'test' ? 'once' : now.toISOString().slice(0, 7);

/** When the plan's next grant comes: the start of the next UTC month, or null where nothing comes again. */
export const nextGrantAt = (environment: 'live' | 'test', now: Date): Date | null =>
  environment === 'test' ? null : new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1));

/** The latest grant that an account was given. */
export interface GivenGrant {
  plan: PlanName;
  period: string;
  periodGrant: number;
}

/**
 * Whether an account has to be brought up to date before credits are spent from it. A plan that grew within its month
 * adds the difference, one that shrank takes nothing back, and a clock that is behind starts no month again.
 */
export function isGrantDue(given: GivenGrant | undefined, { plan }: Standing, grant: Grant): boolean {
  if (given === undefined || given.period < grant.period) return true;
  return given.period === grant.period && (given.plan !== plan || given.periodGrant < grant.amount);
}
