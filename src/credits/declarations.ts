import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { creditLimits } from './core/limits.ts';

export const creditsDeclarations: OperatorDeclarations = {
  name: 'credits',
  limits: creditLimits,
  limitUse: {
    monthlyCredits: {
      used: `(select sum(credits) from usage_count where organization_id = :organizationId and environment = :environment
                and dimension = 'day' and starts_at >= date_trunc('month', atelier_statement_now(), 'UTC'))`,
      // After another plan the number stays, for when the organization comes back.
      allowed: `(select a.own_grant from credit_account a join organization o on o.id = a.organization_id
                  where a.organization_id = :organizationId and a.environment = :environment and o.plan = 'enterprise')`,
      resets: 'month',
    },
  },
  auditActions: { 'credits.grant': organizationIds, 'credits.monthly': organizationIds },
};
