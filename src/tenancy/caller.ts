import type { Environment } from '../platform/tenant.ts';
import type { PlanName } from './core/plans.ts';
import type { RateLimits } from './core/rate-windows.ts';
import type { KeyScope } from './core/scopes.ts';

/** The dialect that a key's answers are in, unless a request says otherwise. */
export type Variant = 'A' | 'B';

/** Who calls: an organization's key, and what it may do. */
export interface Caller {
  keyId: string;
  organizationId: string;
  organizationName: string;
  plan: PlanName;
  environment: Environment;
  scopes: KeyScope[];
  variant: Variant;
  limits: RateLimits;
}
