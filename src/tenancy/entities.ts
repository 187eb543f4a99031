import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';

export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organization',
  properties: {
    id: p.uuid().primary(),
    name: p.string().length(200),
    /** The name of the organization in addresses of pages. It is unique in the installation. The database makes the first one of the name. */
    slug: p.string().length(63).unique(),
    plan: p.string().length(20),
    email: p.string().length(320).nullable(),
    /** Requests per minute and day that override the plan's. */
    rateMinute: p.integer().nullable(),
    rateDay: p.integer().nullable(),
    /** Runs that call out at the same time, in place of the plan's number. */
    callingRuns: p.integer().nullable(),
    /** When it was deleted. Until it is purged it can be restored. */
    deletedAt: p.datetime().nullable(),
    /** When its removal began. */
    purgingAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  indexes: [{ name: 'organization_deleted_index', properties: ['deletedAt'], where: 'deleted_at is not null' }],
});
export type Organization = InferEntity<typeof Organization>;

/** Has no tenant filter: keys are looked up by hash before the tenant is known. */
export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_key',
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    name: p.string().length(200),
    hash: p.blob().unique(),
    prefix: p.string().length(8),
    lastFour: p.string().length(4),
    scopes: p.array(),
    variant: p.string().length(1),
    createdAt: p.datetime(),
    lastUsedAt: p.datetime().nullable(),
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    /** The actor that created it, as the audit log names it; null for keys of operators. */
    createdBy: p.string().length(64).nullable(),
    /** The key that a rotation made in its place. */
    replacedBy: p.uuid().nullable(),
  },
  indexes: [{ properties: ['organizationId', 'environment', 'id'] }],
});
export type ApiKey = InferEntity<typeof ApiKey>;

/** A tenant's usage in a UTC month, identified by its first day. Written only by SQL statements. */
export const UsageMonth = defineEntity({
  name: 'UsageMonth',
  tableName: 'usage_month',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    month: p.date().primary(),
    requests: p.bigint().defaultRaw('0'),
    runs: p.bigint().defaultRaw('0'),
    tokens: p.bigint().defaultRaw('0'),
  },
  indexes: [{ name: 'usage_month_index', properties: ['month'] }],
});
export type UsageMonth = InferEntity<typeof UsageMonth>;

/** Mails of a tenant to addresses that belong to no member, in a UTC day. Written only by SQL statements. */
export const MailDay = defineEntity({
  name: 'MailDay',
  tableName: 'mail_day',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    day: p.date().primary(),
    mails: p.integer(),
  },
  indexes: [{ name: 'mail_day_index', properties: ['day'] }],
});

/**
 * A tenant's use in an hour or a UTC day, by a value of a dimension: a workflow, a model, a key. Written only by SQL
 * statements.
 */
export const UsageCount = defineEntity({
  name: 'UsageCount',
  tableName: 'usage_count',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    dimension: p.string().length(8).primary(),
    startsAt: p.datetime().primary(),
    value: p.string().length(200).primary(),
    requests: p.bigint(),
    runs: p.bigint(),
    failedRuns: p.bigint(),
    tokens: p.bigint(),
    credits: p.bigint(),
    deliveries: p.bigint(),
    failedDeliveries: p.bigint(),
  },
  indexes: [{ name: 'usage_count_index', properties: ['startsAt'] }],
});
