import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database.ts';

/** An event that a provider told of, for a day: it may be sent again. */
export const InboundEvent = defineEntity({
  name: 'InboundEvent',
  tableName: 'integration_inbound_event',
  filters: { tenant: tenantFilter },
  properties: {
    /** Of the integration's connection. */
    connectionId: p.uuid().primary(),
    /** The beginning of the SHA-256 of the provider's key of the event. */
    digest: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    receivedAt: p.datetime(),
    /** Of an event whose data have to be fetched. */
    trigger: p.string().length(40).nullable(),
    /** Where they are. Null once they are fetched, and where they came with the event. */
    reference: p.json<Record<string, string>>().nullable(),
    /** How often that failed. */
    tries: p.smallint().default(0),
  },
  indexes: [
    { name: 'integration_inbound_event_age_index', properties: ['receivedAt'] },
    {
      name: 'integration_inbound_event_fetch_index',
      properties: ['connectionId', 'receivedAt'],
      where: 'reference is not null',
    },
  ],
});
