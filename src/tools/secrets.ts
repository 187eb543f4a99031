import type { SealedPlace, Sealer } from '../platform/security/crypto.ts';
import type { Tenant } from '../platform/tenant.ts';

/** Where the secrets of a configuration are sealed for. */
export const sealedSecretsOf = (rowId: string, tenant: Tenant): SealedPlace => ({
  table: 'tool_configuration',
  column: 'sealed_secrets',
  rowId,
  tenant,
});

export type Secrets = Readonly<Record<string, string>>;

/** @returns null without secrets. @throws SealError */
export const sealSecrets = (sealer: Sealer, secrets: Secrets, place: SealedPlace): string | null =>
  Object.keys(secrets).length === 0 ? null : sealer.seal(JSON.stringify(secrets), place);

/** @throws SealError */
export const openSecrets = (sealer: Sealer, sealed: string | null | undefined, place: SealedPlace): Secrets =>
  sealed == null ? {} : JSON.parse(sealer.open(sealed, place));
