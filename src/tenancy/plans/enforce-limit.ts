import { AppError } from '../../platform/errors.ts';
import type { PlanLimit } from '../core/plan-limits.ts';
import type { PlanName } from '../core/plans.ts';

/** The plan of a tenant, and the number of existing resources that the limit counts. */
interface PlanUse {
  plan: PlanName;
  count: number;
}

/** The message and details of a refusal. @param what the counted resources, in the plural: `triggers` */
export function planRefusal(limit: PlanLimit, plan: PlanName, what: string) {
  const included = limit.of(plan);
  return {
    message: `The plan ${plan} includes ${included.toLocaleString('en-US')} ${what}.`,
    details: { limit: included, plan },
  };
}

/** @param more resources that are to be added. @throws AppError forbidden if the plan does not include them */
export function enforceLimit(limit: PlanLimit, { plan, count }: PlanUse, what: string, more = 1): void {
  if (count + more <= limit.of(plan)) return;
  const { message, details } = planRefusal(limit, plan, what);
  throw new AppError('forbidden', message, details);
}
