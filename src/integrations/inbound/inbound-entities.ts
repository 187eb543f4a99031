import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/**
 * An event that a provider sent without its data, which must be fetched. Kept for a day, because it may be sent again. An event
 * with its data is published at once and has no row here.
 */
export const InboundEvent = defineEntity({
  name: 'InboundEvent',
  tableName: 'integration_inbound_event',
  filters: { tenant: tenantFilter },
  properties: {
    /** The integration's connection. */
    connectionId: p.uuid().primary(),
    /** The beginning of the SHA-256 of the connection and the provider's key of the event. */
    digest: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    receivedAt: p.datetime(),
    trigger: p.string().length(40).nullable(),
    /** Where the data are. Null once they are fetched. */
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
