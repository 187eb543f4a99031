import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { limitsOf } from '../core/limits.ts';
import type { PlanName } from '../core/plans.ts';
import type { RateLimits } from '../core/rate-windows.ts';

const find = systemStatement({
  name: 'organization.rate_limits',
  parameters: { organizationId: 'uuid' },
  row: { plan: typed<PlanName>('text'), rateMinute: 'int?', rateDay: 'int?' },
  text: `select plan, rate_minute as "rateMinute", rate_day as "rateDay" from organization where id = :organizationId`,
});

/** The request limits of an organization that exists, where no key has brought them along. */
export async function findRateLimits(database: Database, organizationId: string): Promise<RateLimits> {
  const { plan, ...own } = (await sqlOn(database.pool).one(find, { organizationId }))!;
  return limitsOf(plan, own);
}
