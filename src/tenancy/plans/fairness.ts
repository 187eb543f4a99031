import type { Tenant } from '../../platform/tenant.ts';
import type { Fairness } from '../../temporal/contracts/work-context.ts';
import { tenancyLimits } from '../core/limits.ts';
import type { PlanName } from '../core/plans.ts';

/** Temporal's fairness key and weight of an organization. */
export const fairnessOf = ({ organizationId }: Tenant, plan: PlanName): Fairness => ({
  key: organizationId,
  weight: tenancyLimits.fairnessWeight.of(plan),
});
