import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** An event whose body decides about deliveries that are still to be created: see address-events.ts. */
export const EventAddressing = defineEntity({
  name: 'EventAddressing',
  tableName: 'event_addressing',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    eventId: p.uuid().primary(),
    /** The last webhook that was decided about, in the order of their ids; null before the first. */
    afterId: p.uuid().nullable(),
    /** The oldest event of a tenant has the lease for all: who addresses them, and until when. */
    lease: p.uuid().nullable(),
    leasedUntil: p.datetime().nullable(),
  },
});
