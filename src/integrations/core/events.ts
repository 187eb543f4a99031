import { defineEvent } from '../../platform/core/event-type.ts';
import { text } from '../../platform/core/json-schema.ts';

export const integrationAuthExpired = defineEvent({
  type: 'integration.auth_expired',
  description: 'The provider of an integration no longer accepts our access to it. Connect the integration again.',
  since: '2026-11-22',
  data: (facts: { integration: string }) => facts,
  members: { integration: text('The id of the integration.') },
  example: { integration: 'slack' },
});
