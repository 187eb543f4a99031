import type { Environment, Tenant } from '../tenant.ts';

declare const madeByScope: unique symbol;

/**
 * Identifies a tenant in pools that tenants share. Only a scope creates it, so that no part of a tenant's work can pass
 * for another tenant's.
 */
export type TenantKey = string & { readonly [madeByScope]: true };

/**
 * Identifies one environment of an organization where its live and test halves share nothing. Also created only by a
 * scope.
 */
export type EnvironmentKey = string & { readonly [madeByScope]: 'environment' };

/** The tenant that a key names. */
export function tenantOf(key: EnvironmentKey): Tenant {
  const [organizationId, environment] = key.split(' ') as [string, Environment];
  return { organizationId, environment };
}
