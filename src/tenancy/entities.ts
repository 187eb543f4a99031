import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database.ts';

export const Organization = defineEntity({
  name: 'Organization',
  tableName: 'organization',
  properties: {
    id: p.uuid().primary(),
    name: p.string().length(200),
    plan: p.string().length(20),
    email: p.string().length(320).nullable(),
    /** Requests a minute and a day, where the plan's numbers do not apply. */
    rateMinute: p.integer().nullable(),
    rateDay: p.integer().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
});
export type Organization = InferEntity<typeof Organization>;

/** Not behind the tenant filter: a key is what names the tenant, so it is found by its hash alone. */
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
  },
  indexes: [{ properties: ['organizationId', 'environment', 'id'] }],
});
export type ApiKey = InferEntity<typeof ApiKey>;

/** What a tenant used in a UTC month, named by its first day. Written by statements alone. */
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
});
export type UsageMonth = InferEntity<typeof UsageMonth>;
