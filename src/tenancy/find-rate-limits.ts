import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { limitsOf } from './core/limits.ts';
import type { PlanName } from './core/plans.ts';
import type { RateLimits } from './core/rate-windows.ts';

const find = statement<{ plan: PlanName; rateMinute: number | null; rateDay: number | null }>(
  'organization.rate_limits',
  `select plan, rate_minute as "rateMinute", rate_day as "rateDay" from organization where id = $1`,
);

/** The request limits of an organization that exists, where no key has brought them along. */
export async function findRateLimits(database: Database, organizationId: string): Promise<RateLimits> {
  const { plan, ...own } = (await sqlOn(database.pool).one(find, [organizationId]))!;
  return limitsOf(plan, own);
}
