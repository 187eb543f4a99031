import { createHash, randomBytes } from 'node:crypto';
import type { SealedPlace, Sealer } from '../../platform/security/crypto.ts';
import type { Tenant } from '../../platform/tenant.ts';
import type { Account } from '../calls/provider-call.ts';
import type { Integration } from '../definition/integration.ts';

/** Columns of `integration_connection` that are sealed. */
export const sealedColumns = ['sealed_sandbox_secret'] as const;

const placeOf = (connectionId: string, tenant: Tenant): SealedPlace => ({
  table: 'integration_connection',
  column: 'sealed_sandbox_secret',
  rowId: connectionId,
  tenant,
});

/**
 * The account that test keys are connected to: one for each organization and integration. Its id is 15 digits, because
 * some providers name accounts by numbers.
 */
export function sandboxAccount({ organizationId }: Tenant, { id, name }: Pick<Integration, 'id' | 'name'>): Account {
  const digest = createHash('sha256').update(`sandbox account ${organizationId} ${id}`).digest();
  const digits = 1e14 + (Number(digest.readBigUInt64BE() >> 11n) % 9e14);
  return { id: String(digits), name: `Sandbox ${name}`, details: {} };
}

/** What `test` returns about it. */
export const sandboxDetails = ({ name }: Pick<Integration, 'name'>) => ({
  workspace: `Sandbox ${name}`,
  user: 'sandbox-user',
});

/** A secret with which the tester signs the events of a connection. @throws SealError */
export const newSandboxSecret = (sealer: Sealer, connectionId: string, tenant: Tenant): string =>
  sealer.seal(randomBytes(32).toString('hex'), placeOf(connectionId, tenant));

/** @throws SealError */
export const openSandboxSecret = (sealer: Sealer, sealed: string, connectionId: string, tenant: Tenant): string =>
  sealer.open(sealed, placeOf(connectionId, tenant));
