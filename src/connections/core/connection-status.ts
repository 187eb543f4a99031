import { defineStates } from '../../platform/core/states.ts';

export const connectionStates = defineStates(
  { table: 'oauth_connection', column: 'status' },
  {
    active: { meaning: 'Its tokens are used, and refreshed before they end.', initial: true, to: ['auth_expired'] },
    auth_expired: {
      meaning:
        'The provider no longer accepts its tokens, and they were erased; connecting the account again renews them.',
      to: ['active'],
    },
  },
);

export type ConnectionStatus = (typeof connectionStates.all)[number];
