import type { RowBounds } from '../platform/database/row-bound.ts';
import { catalog } from './catalog.ts';

const purge = { with: 'integration_connection', column: 'connection_id' } as const;

/** How the rows of integrations are bounded. */
export const integrationRowBounds: RowBounds = {
  integration_connection: { max: { rows: catalog.length, of: 'environment' } },
  integration_action: {
    max: { plan: 'scheduledActions' },
    retention: { by: 'remove actions after a day', after: 'a day' },
  },
  integration_inbound_event: { retention: { by: 'forget inbound events', after: 'its Idempotency-Key' }, purge },
  integration_poll: { removedWith: { table: 'integration_connection', by: ['integration.forget_poll'] }, purge },
  integration_push: { removedWith: { table: 'integration_connection', by: ['integration.forget_all_pushed'] }, purge },
};
