import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

/** A token of a browser. Written and found by SQL statements only: it is looked up by its hash before the tenant is known. */
export const BrowserToken = defineEntity({
  name: 'BrowserToken',
  tableName: 'browser_token',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    /** The key that created it, and with which it ends; null for a token that a person created. */
    keyId: p.uuid().nullable(),
    /** The session in which a person made it, with which it ends. */
    sessionId: p.uuid().nullable(),
    userId: p.uuid().nullable(),
    hash: p.blob().unique(),
    scopes: p.array(),
    runIds: p.array().columnType('uuid[]').nullable(),
    workflowIds: p.array().columnType('uuid[]').nullable(),
    batchId: p.uuid().nullable(),
    tags: p.array().nullable(),
    origins: p.array().nullable(),
    maxUses: p.integer().nullable(),
    uses: p.integer().defaultRaw('0'),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'browser_token_key_index', properties: ['keyId'] },
    { name: 'browser_token_expires_index', properties: ['expiresAt'] },
  ],
});
export type BrowserToken = InferEntity<typeof BrowserToken>;
