import { planLimits } from '../../tenancy/core/plan-limits.ts';

export const creditLimits = planLimits({
  /** Credits that are granted each UTC month to live keys. */
  monthlyCredits: {
    label: 'credits per month, live',
    position: 220,
    plans: { free: 100, pro: 1_000, team: 5_000, enterprise: 10_000 },
  },
});
