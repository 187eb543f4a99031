import type { Environment } from '../platform/tenant.ts';
import type { PlanName } from './core/plans.ts';
import type { RateLimits } from './core/rate-windows.ts';
import type { TokenAccess } from './core/token-access.ts';

/** A key's dialect, which applies unless the request selects one. */
export type Variant = 'A' | 'B';

/** The caller of a request: an organization's key, or a token of a browser that a key made, and its permissions. */
export interface Caller {
  keyId: string;
  organizationId: string;
  organizationName: string;
  plan: PlanName;
  environment: Environment;
  scopes: string[];
  variant: Variant;
  limits: RateLimits;
  /** Present for a caller with a token of a browser. */
  token?: TokenAccess;
  /** When the key or the token expires, in milliseconds since the epoch; null: never. */
  expiresAt: number | null;
  /** The generation of the key cache in which this was read. */
  generation: number;
}
