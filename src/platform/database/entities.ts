import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from './database.ts';

/**
 * Work that follows from a committed transaction: enqueued in it, attempted right after the commit, retried by the drain,
 * deleted when done.
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
    /** By the drain: the attempt right after the commit is not counted. */
    attempts: p.integer(),
    createdAt: p.datetime(),
    /** The drain leaves an entry alone until then: it is being attempted, or waits for its next attempt. */
    availableAt: p.datetime(),
    lastAttemptAt: p.datetime().nullable(),
    /** The error that the last attempt ended with, in one line. */
    lastError: p.string().length(500).nullable(),
  },
  uniques: [{ properties: ['kind', 'subjectId'] }],
  indexes: [
    { properties: ['availableAt'] },
    { properties: ['kind', 'availableAt'] },
    { name: 'outbox_tenant_index', properties: ['kind', 'organizationId', 'environment', 'availableAt'] },
  ],
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
    /** The id in the outcome of the first request; without meaning if the outcome has no `id`. */
    resourceId: p.uuid(),
    /** What the first request returned. */
    outcome: p.json<object>().columnType('json').nullable(),
    createdAt: p.datetime(),
  },
  indexes: [{ properties: ['createdAt'] }],
});
export type IdempotencyRecord = InferEntity<typeof IdempotencyRecord>;

/**
 * Changes of an organization's resources, and their actors. PostgreSQL refuses to change or remove an entry; each
 * contains the hash of the previous one, so that a missing or changed entry is detected.
 */
export const AuditEntry = defineEntity({
  name: 'AuditEntry',
  tableName: 'audit_log',
  properties: {
    organizationId: p.uuid().primary(),
    /** 1, 2, 3 … within the organization, without gaps. */
    number: p.integer().primary(),
    /** Null for what concerns both halves of the organization. */
    environment: p.string().length(4).nullable(),
    action: p.string().length(40),
    subjectId: p.uuid(),
    actor: p.string().length(64),
    correlationId: p.string().length(128).nullable(),
    facts: p.json<Record<string, unknown>>(),
    recordedAt: p.datetime(),
    previousHash: p.blob(),
    hash: p.blob(),
    /** The rule of the hash: 1, 2 with RFC 8785, or 3 with the request that caused the entry. */
    hashVersion: p.smallint().default(1),
    requestId: p.string().length(36).nullable(),
    ip: p.string().length(45).nullable(),
  },
});
export type AuditEntry = InferEntity<typeof AuditEntry>;
