import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** How many runs of a tenant may not begin yet. Kept by triggers of the runs. */
export const QueuedTotal = defineEntity({
  name: 'QueuedTotal',
  tableName: 'queued_total',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    runs: p.integer(),
  },
});
