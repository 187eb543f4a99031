import { ofTenant } from '../platform/parts/limit-use.ts';
import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { creditLimits } from './core/limits.ts';

export const creditsDeclarations: OperatorDeclarations = {
  name: 'credits',
  limits: creditLimits,
  limitUse: {
    monthlyCredits: {
      used: `(select sum(credits) from usage_count where organization_id = :organizationId and environment = :environment
                and dimension = 'day' and starts_at >= date_trunc('month', now(), 'UTC'))`,
      allowed: ofTenant('own_grant', 'credit_account'),
      resets: 'month',
    },
  },
  auditActions: { 'credits.grant': organizationIds, 'credits.monthly': organizationIds },
};
