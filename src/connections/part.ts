import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/database/batches.ts';
import { Egress } from '../platform/egress/egress.ts';
import { providerRules } from '../platform/egress/egress-destination.ts';
import type { Part } from '../platform/parts/part.ts';
import { AccessTokens } from './access-tokens.ts';
import { Authorities } from './authorities.ts';
import { Connections } from './connections.ts';
import { connectionStates } from './core/connection-status.ts';
import { connectionsDeclarations } from './declarations.ts';
import { AllowedRedirect, Connection, OAuthState } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { connectionPolicy } from './policy.ts';
import { removeExpiredStates, States } from './states.ts';

export interface ConnectionServices {
  connections: Connections;
  /** Sends requests to providers whose addresses the environment names. */
  providerEgress: Egress;
}

/** Access to accounts that their owners grant: OAuth 2 with PKCE, sealed tokens, refresh. */
export const connections: Part<Foundation, ConnectionServices> = {
  ...connectionsDeclarations,
  states: { 'A connection': connectionStates },
  entities: [OAuthState, Connection, AllowedRedirect],
  rowBounds: {
    oauth_state: { retention: { by: 'remove consents that were not answered', after: 'ten minutes' } },
    // It is created with a calendar or a connection of an integration, and removed in the same transaction as that.
    oauth_connection: { removedWith: { table: 'calendar', by: ['connection.erase'] } },
    allowed_redirect: { operatorsOnly: true },
  },
  failPoints: failPoint.names,
  open({ env, database, sealer, log }) {
    const providerEgress = new Egress(providerRules(env));
    const authorities = new Authorities(env.PUBLIC_URL, providerEgress, connectionPolicy);
    return {
      providerEgress,
      connections: new Connections({
        database,
        sealer,
        log,
        authorities,
        states: new States({ database, sealer }),
        accessTokens: new AccessTokens({ sealer, authorities, log, policy: connectionPolicy }),
        allowsLoopback: env.NODE_ENV !== 'production',
      }),
    };
  },
  close: ({ providerEgress }) => providerEgress.close(),
  sweeps: ({ database }) => [
    {
      name: 'remove consents that were not answered',
      everyMs: 60_000,
      run: () => inBatches((limit) => removeExpiredStates(database, limit)),
    },
  ],
};
