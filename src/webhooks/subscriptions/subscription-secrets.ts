import type { SealedPlace, Sealer } from '../../platform/security/crypto.ts';
import type { Tenant } from '../../platform/tenant.ts';

/** Columns of `webhook_subscription` that are sealed. */
export const sealedColumns = [
  'sealed_secret',
  'sealed_previous_secret',
  'sealed_older_secret',
  'sealed_headers',
] as const;
export type SealedColumn = (typeof sealedColumns)[number];

/** The context that a column of a subscription is sealed with. */
export const sealedColumn = (column: SealedColumn, subscriptionId: string, tenant: Tenant): SealedPlace => ({
  table: 'webhook_subscription',
  column,
  rowId: subscriptionId,
  tenant,
});

/** Headers that the owner of a subscription added. */
export type Headers = Record<string, string>;

/** @returns null without headers. @throws SealError */
export function sealHeaders(
  sealer: Sealer,
  headers: Headers,
  { id, tenant }: { id: string; tenant: Tenant },
): string | null {
  if (Object.keys(headers).length === 0) return null;
  return sealer.seal(JSON.stringify(headers), sealedColumn('sealed_headers', id, tenant));
}

/** @throws SealError */
export const openHeaders = (
  sealer: Sealer,
  sealed: string | null,
  { id, tenant }: { id: string; tenant: Tenant },
): Headers => (sealed === null ? {} : JSON.parse(sealer.open(sealed, sealedColumn('sealed_headers', id, tenant))));
