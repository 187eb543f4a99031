import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** How far a recovery of missed deliveries has come: see recovery.ts. */
export const RecoveryProgress = defineEntity({
  name: 'RecoveryProgress',
  tableName: 'recovery',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    subscriptionId: p.uuid(),
    since: p.datetime(),
    /** The time of the request. Later events are not part of the recovery. */
    until: p.datetime(),
    /** Only deliveries and events that were created before this time; `infinity` without such a bound. */
    windowEnd: p.datetime().defaultRaw("'infinity'"),
    /** Only events of these types; null for all. */
    eventTypes: p.json<string[]>().nullable(),
    /** Only dead letters whose last attempt was answered so; null for all, and for events that were missed. */
    statusClass: p.string().length(5).nullable(),
    /** First it goes through dead letters, then through events. */
    readsEvents: p.boolean(),
    /** The first transaction that was open when it began, and the first after all of these. Null where none was. */
    lateFrom: p.bigint().nullable(),
    lateUntil: p.bigint().nullable(),
    /** Then it goes through the events of these transactions, once all have ended. */
    readsLate: p.boolean().default(false),
    /** The position of the last one. */
    afterAt: p.datetime(),
    afterId: p.uuid(),
    queued: p.integer(),
    finishedAt: p.datetime().nullable(),
  },
  indexes: [{ name: 'recovery_open_index', properties: ['id'], where: 'finished_at is null' }],
});
