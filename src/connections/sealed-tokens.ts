import { clock } from '../platform/clock.ts';
import type { SealedPlace, Sealer } from '../platform/security/crypto.ts';
import type { Tenant } from '../platform/tenant.ts';
import type { Tokens } from './authority.ts';

/** Columns of `oauth_connection` that are sealed. */
export const sealedColumns = ['sealed_access_token', 'sealed_refresh_token'] as const;
export type SealedColumn = (typeof sealedColumns)[number];

/** The context that a column of a connection is sealed with. */
export const sealedColumn = (column: SealedColumn, rowId: string, tenant: Tenant): SealedPlace => ({
  table: 'oauth_connection',
  column,
  rowId,
  tenant,
});

/** A token this close to its end is refreshed before it is used. */
const marginMs = 300_000;

/** When a new access token is requested: five minutes before the end, or after half of a short life. */
const refreshTime = (expiresAt: Date | null, now: number): Date | null =>
  expiresAt && new Date(expiresAt.getTime() - Math.min(marginMs, Math.max(0, expiresAt.getTime() - now) / 2));

/** The stored part of tokens. A refresh token that is not returned again stays. */
interface SealedTokens {
  sealedAccessToken: string;
  /** Undefined: as it was. */
  sealedRefreshToken: string | undefined;
  accessExpiresAt: Date | null;
  refreshAt: Date | null;
}

/** @throws SealError */
export function sealTokens(
  sealer: Sealer,
  tokens: Tokens,
  { id, tenant }: { id: string; tenant: Tenant },
): SealedTokens {
  const { accessToken, refreshToken, expiresAt } = tokens;
  return {
    sealedAccessToken: sealer.seal(accessToken, sealedColumn('sealed_access_token', id, tenant)),
    sealedRefreshToken:
      refreshToken === null ? undefined : sealer.seal(refreshToken, sealedColumn('sealed_refresh_token', id, tenant)),
    accessExpiresAt: expiresAt,
    refreshAt: refreshTime(expiresAt, clock.now()),
  };
}

/** @returns null where none is stored. @throws SealError */
export const openToken = (
  sealer: Sealer,
  column: SealedColumn,
  sealed: string | null,
  { id, tenant }: { id: string; tenant: Tenant },
): string | null => (sealed === null ? null : sealer.open(sealed, sealedColumn(column, id, tenant)));
