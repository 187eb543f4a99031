import type { RateLimits } from './rate-windows.ts';
import type { KeyScope } from './scopes.ts';

/** The limits of a plan. */
export interface Plan {
  /** Share of the workers when several organizations have queued work (Temporal's fairness weight, 0.001 to 1000). */
  fairnessWeight: number;
  /** Every request counts in both windows. Organizations can override these numbers. */
  requestsPerMinute: number;
  requestsPerDay: number;
  /** Scopes that the plan does not include, even if a key has them. */
  withoutFeatures: readonly KeyScope[];
}

export const planNames = ['free', 'pro', 'team', 'enterprise'] as const;
export type PlanName = (typeof planNames)[number];

export const plans: Record<PlanName, Plan> = {
  free: { fairnessWeight: 1, requestsPerMinute: 60, requestsPerDay: 1_000, withoutFeatures: [] },
  pro: { fairnessWeight: 5, requestsPerMinute: 300, requestsPerDay: 10_000, withoutFeatures: [] },
  team: { fairnessWeight: 10, requestsPerMinute: 600, requestsPerDay: 50_000, withoutFeatures: [] },
  enterprise: { fairnessWeight: 50, requestsPerMinute: 6_000, requestsPerDay: 1_000_000, withoutFeatures: [] },
};

/** The request limits of an organization: its overrides, or those of its plan. */
export function limitsOf(plan: PlanName, own: { rateMinute: number | null; rateDay: number | null }): RateLimits {
  const { requestsPerMinute, requestsPerDay } = plans[plan];
  return { perMinute: own.rateMinute ?? requestsPerMinute, perDay: own.rateDay ?? requestsPerDay };
}

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);
