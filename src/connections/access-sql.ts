import { statement } from '../platform/sql.ts';
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

const own = 'organization_id = $1 and environment = $2 and id = $3';
/** Nobody changed the tokens since they were read. */
const unchanged = `${own} and version = $4 and status = 'active'`;

export const findAccess = statement<Access>(
  'connection.access',
  `select id, purpose, provider, status, sealed_access_token as "sealedAccessToken",
          sealed_refresh_token as "sealedRefreshToken", access_expires_at as "accessExpiresAt",
          refresh_at as "refreshAt", version
     from oauth_connection where ${own}`,
  { sharesConnection: true },
);

/** Takes the lease for a refresh. The lease of a process that died expires. */
export const leaseRefresh = statement<{ leased: boolean }>(
  'connection.lease',
  `update oauth_connection set lease_until = clock_timestamp() + make_interval(secs => $5)
    where ${unchanged} and (lease_until is null or lease_until <= clock_timestamp())
    returning true as leased`,
);

/** After a refresh that failed for now: the next one may begin after so many seconds. */
export const postponeRefresh = statement(
  'connection.postpone',
  `update oauth_connection set lease_until = clock_timestamp() + make_interval(secs => $5) where ${unchanged}`,
);

export const saveTokens = statement<{ version: number }>(
  'connection.save_tokens',
  `update oauth_connection
      set sealed_access_token = $5, sealed_refresh_token = coalesce($6, sealed_refresh_token),
          access_expires_at = $7, refresh_at = $8, version = version + 1, lease_until = null,
          updated_at = clock_timestamp()
    where ${unchanged} returning version`,
);

/** The tokens are no longer valid. */
export const endAccess = statement<{ purpose: string }>(
  'connection.end_access',
  `update oauth_connection
      set status = 'auth_expired', sealed_access_token = null, sealed_refresh_token = null, access_expires_at = null,
          refresh_at = null, version = version + 1, lease_until = null, updated_at = clock_timestamp()
    where ${unchanged} returning purpose`,
);
