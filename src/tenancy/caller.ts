import type { Environment } from '../platform/tenant.ts';
import type { PlanName } from './core/plans.ts';
import type { RateLimits } from './core/rate-windows.ts';
import type { Role } from './core/roles.ts';
import type { TokenAccess } from './core/token-access.ts';

/** A key's dialect, which applies unless the request selects one. */
export type Variant = 'A' | 'B';

/** A signed-in person, in the organization that the request names. */
export interface CallerSession {
  id: string;
  userId: string;
  email: string;
  name: string;
  role: Role;
  /** Whether the request only reads, which every role may. */
  isRead: boolean;
}

/**
 * The caller of a request, of an organization: its key, a token of a browser, with its permissions, or a signed-in
 * person.
 */
export interface Caller {
  /** Null for a person, and for a token that a person made. */
  keyId: string | null;
  /** Present for a person, whose role decides in place of scopes. */
  session?: CallerSession;
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
  /** The generation of changes in which this was read, see `KeyChanges`. */
  generation: number;
}

/** The person who calls, or who created the token of the call; undefined for a key. */
export const userIdOf = ({ session, token }: Caller): string | undefined => session?.userId ?? token?.session?.userId;
