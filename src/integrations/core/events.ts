import { defineEvent } from '../../platform/core/event-type.ts';

/** The provider takes our access to an integration no more. */
export const integrationAuthExpired = defineEvent(
  'integration.auth_expired',
  (facts: { integration: string }) => facts,
);
