import { Scope } from '../../src/platform/database/scope.ts';
import type { TenantKey } from '../../src/platform/security/tenant-key.ts';

/** The key of an organization of a test, which needs no database. */
export const tenantKeyOf = (organizationId: string): TenantKey =>
  new Scope(undefined as never, { organizationId, environment: 'test' }, 'test').tenantKey;
