import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { IntegrationStatus } from './core/connection-status.ts';

/** A resource of an account whose subscription failed. */
export interface RefusedResource {
  /** Consecutive failures. */
  failures: number;
  /** When its subscription is requested again, in milliseconds. */
  until: number;
  /** The provider's code, or the kind of the failure. */
  reason: string;
}

/** A tenant's connection of one integration. It has at most one. */
export const IntegrationConnection = defineEntity({
  name: 'IntegrationConnection',
  tableName: 'integration_connection',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    /** `slack` */
    integration: p.string().length(40),
    /** Its tokens in `oauth_connection`; null if the client's API key replaces them. */
    connectionId: p.uuid().nullable(),
    /** The provider's name of the account, which its events carry. */
    accountId: p.string().length(320),
    accountName: p.string().length(320),
    /** Facts about the account from when it was connected. */
    details: p.json<Record<string, string>>().columnType('json'),
    status: p.string().length(12).$type<IntegrationStatus>(),
    /** With which the tester signs events of the sandbox; null for live keys, and where the provider sends none. */
    sealedSandboxSecret: p.text().nullable(),
    connectedAt: p.datetime(),
    /** Why the latest run that fetched its events, or kept its subscriptions, failed; null where it succeeded. */
    eventsError: p.string().length(100).nullable(),
    /** By resource. */
    refusedResources: p.json<Record<string, RefusedResource>>().default('{}'),
  },
  uniques: [
    { name: 'integration_connection_unique', properties: ['organizationId', 'environment', 'integration'] },
    { name: 'integration_connection_access_unique', properties: ['connectionId'] },
  ],
  indexes: [{ name: 'integration_connection_account_index', properties: ['integration', 'accountId'] }],
});
export type IntegrationConnection = InferEntity<typeof IntegrationConnection>;
