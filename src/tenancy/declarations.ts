import type { OperatorDeclarations } from '../platform/parts/part.ts';
import { keyIds, organizationIds } from './core/ids.ts';
import { tenancyLimits } from './core/limits.ts';

export const tenancyDeclarations: OperatorDeclarations = {
  name: 'tenancy',
  scopes: [{ name: 'keys', position: 110 }],
  limits: tenancyLimits,
  limitUse: {
    mailsPerDay: {
      used: `(select mails from mail_day where organization_id = :organizationId and environment = :environment
                and day = (atelier_now() at time zone 'UTC')::date)`,
      resets: 'day',
    },
  },
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
