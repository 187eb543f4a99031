import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** How far the events of a connection were polled. */
export const IntegrationPoll = defineEntity({
  name: 'IntegrationPoll',
  tableName: 'integration_poll',
  filters: { tenant: tenantFilter },
  properties: {
    connectionId: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    /** The cursor of the integration's `poll`. */
    cursor: p.text(),
    polledAt: p.datetime(),
  },
});

/** A list of missed events that is being read. */
export interface CatchUp {
  /** The `missedAt` of the subscription when the list began. */
  missedAt: string;
  /** Where its next page begins: everything before was read, and is kept. */
  cursor: string;
  /** When the page before was read, or the list began, in milliseconds. */
  readAt: number;
}

/** A subscription at a provider that pushes events until it expires. */
export const IntegrationPush = defineEntity({
  name: 'IntegrationPush',
  tableName: 'integration_push',
  filters: { tenant: tenantFilter },
  properties: {
    connectionId: p.uuid().primary(),
    /** The subscribed resource. */
    resource: p.string().length(500).primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    /** The provider's. */
    subscriptionId: p.string().length(200),
    /** SHA-256 of the secret of the subscription: after a change of the secret a new subscription is created. */
    clientStateHash: p.string().length(64),
    endsAt: p.datetime(),
    /** What happened before is not published. */
    listenedSince: p.datetime().defaultRaw('now()'),
    /** Since when it is known that some events were not pushed; null after they were requested. */
    missedAt: p.datetime().nullable(),
    /** Null while no list of missed events is begun. */
    catchUp: p.json<CatchUp>().nullable(),
  },
});
