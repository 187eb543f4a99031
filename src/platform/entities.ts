import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from './database.ts';

/**
 * Work that a committed transaction owes: written with the fact it follows from, done after the commit, deleted when
 * done. What a crash left behind is found and done by the drain.
 */
export const OutboxEntry = defineEntity({
  name: 'OutboxEntry',
  tableName: 'outbox',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    kind: p.string().length(40),
    subjectId: p.uuid(),
    correlationId: p.string().length(128),
    attempts: p.integer(),
    createdAt: p.datetime(),
    /** The drain leaves an entry alone until then: its writer, or whoever leased it, is at it. */
    availableAt: p.datetime(),
  },
  uniques: [{ properties: ['kind', 'subjectId'] }],
  indexes: [{ properties: ['availableAt'] }],
});
export type OutboxEntry = InferEntity<typeof OutboxEntry>;

/** Which answer belongs to an Idempotency-Key. Kept 24 hours. */
export const IdempotencyRecord = defineEntity({
  name: 'IdempotencyRecord',
  tableName: 'idempotency',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    method: p.string().length(10).primary(),
    path: p.string().length(300).primary(),
    key: p.string().length(255).primary(),
    fingerprint: p.blob(),
    /** What the first request made; its answer is told from this. */
    resourceId: p.uuid(),
    /** What the verb returned, where the resource may change and the answer must not. */
    outcome: p.json<object>().nullable(),
    createdAt: p.datetime(),
  },
  indexes: [{ properties: ['createdAt'] }],
});
export type IdempotencyRecord = InferEntity<typeof IdempotencyRecord>;
