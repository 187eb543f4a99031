import type { RateLimits } from './rate-windows.ts';
import type { KeyScope } from './scopes.ts';

/** What an organization's plan allows. Operators edit this one table; each limit is enforced where it is named. */
export interface Plan {
  /** Share of a worker's time when several organizations wait (Temporal's fairness weight, 0.001 to 1000). */
  fairnessWeight: number;
  /** Both windows count every request; Enterprise organizations may have numbers of their own. */
  requestsPerMinute: number;
  requestsPerDay: number;
  /** Scopes that this plan does not include, whatever a key may do otherwise. */
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

/** How many requests a plan allows, where the organization has no numbers of its own. */
export function limitsOf(plan: PlanName, own: { rateMinute: number | null; rateDay: number | null }): RateLimits {
  const { requestsPerMinute, requestsPerDay } = plans[plan];
  return { perMinute: own.rateMinute ?? requestsPerMinute, perDay: own.rateDay ?? requestsPerDay };
}

export const isPlanName = (text: string): text is PlanName => (planNames as readonly string[]).includes(text);
