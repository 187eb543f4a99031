import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

const tenant = { organizationId: p.uuid().primary(), environment: p.string().length(4).primary() };

/** An event whose deliveries are still to be created: see fan-out.ts. */
export const EventFanOut = defineEntity({
  name: 'EventFanOut',
  tableName: 'event_fan_out',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    eventId: p.uuid().primary(),
    /** The last webhook that has its delivery, in the order of their ids; null before the first. */
    afterId: p.uuid().nullable(),
  },
});

/** How many deliveries more may wait. Only tenants that come near the limit of their plan have a row. */
export const DeliveryBacklog = defineEntity({
  name: 'DeliveryBacklog',
  tableName: 'delivery_backlog',
  filters: { tenant: tenantFilter },
  properties: {
    ...tenant,
    /** Not above 0 while the limit is reached. */
    room: p.bigint(),
  },
});

/** Events that a webhook did not get, because too many deliveries of its tenant waited. */
export const SkippedEvents = defineEntity({
  name: 'SkippedEvents',
  tableName: 'skipped_events',
  filters: { tenant: tenantFilter },
  properties: {
    subscriptionId: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    count: p.integer(),
    firstAt: p.datetime(),
    lastAt: p.datetime(),
  },
});
