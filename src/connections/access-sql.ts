import { statement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { ConnectionStatus } from './core/connection-status.ts';

/** What using a connection needs of it. */
export interface Access {
  id: string;
  purpose: string;
  provider: string;
  status: ConnectionStatus;
  sealedAccessToken: string | null;
  sealedRefreshToken: string | null;
  accessExpiresAt: Date | null;
  refreshAt: Date | null;
  version: number;
}

const own = 'organization_id = :organizationId and environment = :environment and id = :id';
/** The tokens were not changed since they were read. */
const unchanged = `${own} and version = :version and status = 'active'`;

export const findAccess = statement({
  name: 'connection.access',
  parameters: { id: 'uuid' },
  row: {
    id: 'uuid',
    purpose: 'text',
    provider: 'text',
    status: typed<ConnectionStatus>('text'),
    sealedAccessToken: 'text?',
    sealedRefreshToken: 'text?',
    accessExpiresAt: 'timestamptz?',
    refreshAt: 'timestamptz?',
    version: 'int',
  },
  text: `select id, purpose, provider, status, sealed_access_token as "sealedAccessToken",
          sealed_refresh_token as "sealedRefreshToken", access_expires_at as "accessExpiresAt",
          refresh_at as "refreshAt", version
     from oauth_connection where ${own}`,
  sharesConnection: true,
});

/** Takes the lease for a refresh. The lease of a process that died expires. */
export const leaseRefresh = statement({
  name: 'connection.lease',
  parameters: { id: 'uuid', version: 'int', leaseSeconds: 'float8' },
  row: { leased: 'boolean' },
  text: `update oauth_connection set lease_until = atelier_now() + make_interval(secs => :leaseSeconds)
    where ${unchanged} and (lease_until is null or lease_until <= atelier_now())
    returning true as leased`,
});

/** After a refresh that failed for now: the next one may begin after so many seconds. */
export const postponeRefresh = statement({
  name: 'connection.postpone',
  parameters: { id: 'uuid', version: 'int', seconds: 'float8' },
  text: `update oauth_connection set lease_until = atelier_now() + make_interval(secs => :seconds)
    where ${unchanged}`,
});

export const saveTokens = statement({
  name: 'connection.save_tokens',
  parameters: {
    id: 'uuid',
    version: 'int',
    sealedAccessToken: 'text',
    sealedRefreshToken: 'text?',
    accessExpiresAt: 'timestamptz?',
    refreshAt: 'timestamptz?',
  },
  row: { version: 'int' },
  text: `update oauth_connection
      set sealed_access_token = :sealedAccessToken, 
          sealed_refresh_token = coalesce(:sealedRefreshToken, sealed_refresh_token),
          access_expires_at = :accessExpiresAt, refresh_at = :refreshAt, version = version + 1, lease_until = null,
          updated_at = atelier_now()
    where ${unchanged} returning version`,
});

/** The tokens are no longer valid. */
export const endAccess = statement({
  name: 'connection.end_access',
  parameters: { id: 'uuid', version: 'int' },
  row: { purpose: 'text' },
  text: `update oauth_connection
      set status = 'auth_expired', sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null,
          refresh_at = null, version = version + 1, lease_until = null, updated_at = atelier_now()
    where ${unchanged} returning purpose`,
});
