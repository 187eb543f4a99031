import type { Tenant } from '../platform/tenant.ts';
import type { Fairness } from '../temporal/contracts/work-context.ts';
import { type PlanName, plans } from './core/plans.ts';

/** Temporal's fairness key and weight of an organization. */
export const fairnessOf = ({ organizationId }: Tenant, plan: PlanName): Fairness => ({
  key: organizationId,
  weight: plans[plan].fairnessWeight,
});
