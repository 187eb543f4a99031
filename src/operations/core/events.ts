import { defineEvent } from '../../platform/core/event-type.ts';
import { keyIds } from '../../tenancy/core/ids.ts';

export interface ExpiringKeyFacts {
  keyId: string;
  name: string;
  lastFour: string;
  /** ISO 8601 */
  expiresAt: string;
}

/** An API key expires within seven days. */
export const keyExpiring = defineEvent('api_key.expiring', ({ keyId, ...facts }: ExpiringKeyFacts) => ({
  id: keyIds.format(keyId),
  ...facts,
}));
