import { defineEvent } from '../../platform/core/event-type.ts';

/** The provider no longer accepts our access to an integration. */
export const integrationAuthExpired = defineEvent(
  'integration.auth_expired',
  (facts: { integration: string }) => facts,
);
