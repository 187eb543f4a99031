import { defineEvent } from '../../platform/core/event-type.ts';
import { text, time } from '../../platform/core/json-schema.ts';
import { keyIds } from '../../tenancy/core/ids.ts';

interface ExpiringKeyFacts {
  keyId: string;
  name: string;
  lastFour: string;
  /** ISO 8601 */
  expiresAt: string;
}

export const keyExpiring = defineEvent({
  type: 'api_key.expiring',
  description: 'An API key expires within seven days.',
  since: '2026-11-21',
  data: ({ keyId, ...facts }: ExpiringKeyFacts) => ({ id: keyIds.format(keyId), ...facts }),
  members: {
    id: text('The key, as `key_…`.'),
    name: text(),
    lastFour: text('The last four characters of the key.'),
    expiresAt: time(),
  },
  example: {
    keyId: '0199dddd-eeee-7fff-8000-111122223333',
    name: 'Orders',
    lastFour: 'x7Qa',
    expiresAt: '2026-11-28T09:30:00.000Z',
  },
});
