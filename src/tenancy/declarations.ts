import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { keyIds, organizationIds } from './core/ids.ts';
import { tenancyLimits } from './core/limits.ts';

export const tenancyDeclarations: OperatorDeclarations = {
  name: 'tenancy',
  scopes: [{ name: 'keys', position: 110 }],
  limits: tenancyLimits,
  auditActions: {
    'organization.create': organizationIds,
    'organization.update': organizationIds,
    'organization.delete': organizationIds,
    'organization.restore': organizationIds,
    'api_key.create': keyIds,
    'api_key.update': keyIds,
    'api_key.rotate': keyIds,
    'api_key.revoke': keyIds,
  },
};
