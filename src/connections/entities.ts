import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { ConnectionStatus } from './core/connection-status.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** A pending consent. The first callback removes it, whatever its outcome. */
export const OAuthState = defineEntity({
  name: 'OAuthState',
  tableName: 'oauth_state',
  filters: { tenant: tenantFilter },
  properties: {
    /** SHA-256 of the state, in hexadecimal, so that reading the table does not help to forge a callback. */
    stateHash: p.string().length(64).primary(),
    ...tenant,
    purpose: p.string().length(40),
    provider: p.string().length(40),
    /** Data for the feature that asked, for use when the answer arrives. */
    subject: p.json<Record<string, unknown>>(),
    redirectUrl: p.text().nullable(),
    loginHint: p.text().nullable(),
    /** The requested scopes; null for those of the provider's declaration. */
    scopes: p.json<readonly string[]>().nullable(),
    /** The code verifier of PKCE. */
    sealedVerifier: p.text(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  },
  indexes: [
    { name: 'oauth_state_tenant_index', properties: ['organizationId', 'environment', 'expiresAt'] },
    { name: 'oauth_state_expiry_index', properties: ['expiresAt'] },
  ],
});

/** A tenant's access to one account at a provider. */
export const Connection = defineEntity({
  name: 'Connection',
  tableName: 'oauth_connection',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    purpose: p.string().length(40),
    provider: p.string().length(40),
    /** The provider's name of the account, which stays when the account is renamed. */
    accountId: p.string().length(320),
    accountName: p.string().length(320),
    status: p.string().length(12).$type<ConnectionStatus>(),
    /** Null once access has ended. */
    sealedAccessToken: p.text().nullable(),
    /** Null where the provider gives none. */
    sealedRefreshToken: p.text().nullable(),
    /** Null where the provider does not say. */
    accessExpiresAt: p.datetime().nullable(),
    /** When a new access token is requested. */
    refreshAt: p.datetime().nullable(),
    /** Counts changes of the tokens. */
    version: p.integer(),
    /** Until this time one process refreshes the tokens, or none does because the provider asked to wait. */
    leaseUntil: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
  uniques: [
    {
      name: 'oauth_connection_account_unique',
      properties: ['organizationId', 'environment', 'purpose', 'provider', 'accountId'],
    },
  ],
  indexes: [{ name: 'oauth_connection_same_account_index', properties: ['purpose', 'provider', 'accountId'] }],
});
export type Connection = InferEntity<typeof Connection>;

/** An address to which an organization's users may be sent back after they answered. Test and live share it. */
export const AllowedRedirect = defineEntity({
  name: 'AllowedRedirect',
  tableName: 'allowed_redirect',
  properties: {
    organizationId: p.uuid().primary(),
    url: p.string().length(2_048).primary(),
    createdAt: p.datetime(),
  },
});
