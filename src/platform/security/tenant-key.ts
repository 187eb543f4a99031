import type { Environment, Tenant } from '../tenant.ts';

declare const madeByScope: unique symbol;

/**
 * How pools that tenants share know one of them. Only a scope makes it, so that no part of a tenant's work can pass for
 * another tenant's.
 */
export type TenantKey = string & { readonly [madeByScope]: true };

/** One environment of an organization, for what its live and test halves share nothing of. Only a scope makes it, too. */
export type EnvironmentKey = string & { readonly [madeByScope]: 'environment' };

/** The tenant that a key names. */
export function tenantOf(key: EnvironmentKey): Tenant {
  const [organizationId, environment] = key.split(' ') as [string, Environment];
  return { organizationId, environment };
}
