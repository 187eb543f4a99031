import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { organizationIds } from '../tenancy/core/ids.ts';
import { creditLimits } from './core/limits.ts';

export const creditsDeclarations: OperatorDeclarations = {
  name: 'credits',
  limits: creditLimits,
  auditActions: { 'credits.grant': organizationIds, 'credits.monthly': organizationIds },
};
