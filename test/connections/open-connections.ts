import { pino } from 'pino';
import { AccessTokens } from '../../src/connections/access-tokens.ts';
import { Authorities } from '../../src/connections/authorities.ts';
import { Connections } from '../../src/connections/connections.ts';
import { type ConnectionPolicy, connectionPolicy } from '../../src/connections/policy.ts';
import type { OAuthProvider, Purpose } from '../../src/connections/providers.ts';
import { States } from '../../src/connections/states.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { providerRules } from '../../src/platform/egress/egress-destination.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import type { FakeOAuth } from '../fakes/oauth/oauth-server.ts';
import { secrets } from '../operator.ts';

export const publicUrl = 'http://127.0.0.1:3000';

export const providerOf = (id: string, fake: FakeOAuth, change: Partial<OAuthProvider> = {}): OAuthProvider => ({
  id,
  authorizeUrl: fake.authorizeUrl,
  tokenUrl: fake.tokenUrl,
  revokeUrl: fake.revokeUrl,
  clientId: fake.clientId,
  clientSecret: fake.clientSecret,
  scopes: ['a', 'b'],
  pkce: true,
  clientAuth: 'body',
  authorizeParameters: { access_type: 'offline' },
  ...change,
});

export interface OpenConnections {
  providers: Purpose['providers'];
  onExpired?: Purpose['onExpired'];
  sealingKeys?: string;
  policy?: Partial<ConnectionPolicy>;
  /** Lines of the log, as text. */
  log?: string[];
}

/** The connections of one process, with the purpose `calendar` and another one. */
export function openConnections(
  database: Database,
  { providers, onExpired, sealingKeys = secrets.SEALING_KEYS, policy: change, log: lines = [] }: OpenConnections,
): { connections: Connections; close(): Promise<void> } {
  const policy = { ...connectionPolicy, ...change };
  const sealer = new Sealer(sealingKeys);
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  const egress = new Egress(providerRules({ NODE_ENV: 'test' }));
  const authorities = new Authorities(publicUrl, egress, policy);
  const connections = new Connections({
    database,
    sealer,
    log,
    authorities,
    allowsLoopback: true,
    states: new States({ database, sealer }),
    accessTokens: new AccessTokens({ sealer, authorities, log, policy }),
  });
  connections.declare({ name: 'calendar', callbackPath: '/callback', providers, ...(onExpired && { onExpired }) });
  connections.declare({ name: 'integration', callbackPath: '/other', providers, ...(onExpired && { onExpired }) });
  return { connections, close: () => egress.close() };
}
