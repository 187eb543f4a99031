import { defineStates } from '../../platform/core/states.ts';

export const integrationStates = defineStates(
  { table: 'integration_connection', column: 'status' },
  {
    connected: {
      meaning: 'Its actions can be called, and its events are received.',
      initial: true,
      to: ['auth_expired'],
    },
    auth_expired: {
      meaning: 'The provider no longer accepts our access; connecting the integration again renews it.',
      to: ['connected'],
    },
  },
);

export type IntegrationStatus = (typeof integrationStates.all)[number];
