import type { Egress } from '../platform/egress/egress.ts';
import { catalogue } from './catalogue.ts';
import type { OpenConnection } from './connections.ts';
import { StubConnection } from './stub-connection.ts';

interface OpenerOptions {
  /** With the roots of all tenants. */
  folder: string;
  egress: Egress;
}

/** Opens a connection to any server. Modules are loaded on first use: most processes never call a tool. */
export const connectionOpener =
  ({ folder, egress }: OpenerOptions): OpenConnection =>
  async (target, signal) => {
    const server = catalogue[target.server];
    const { live } = server;
    if (live.kind === 'local') {
      const { openLocalServer } = await import('./local/open-local-server.ts');
      return openLocalServer({ folder, program: live.program, tenant: target.tenant }, signal);
    }
    const { configuration } = target;
    if (!configuration) return new StubConnection(server);
    if (live.kind === 'own' && configuration.url === null) {
      const { openOwnClient } = await import('./own/open-own-client.ts');
      return openOwnClient(live.client, configuration, egress);
    }
    const { openRemoteServer } = await import('./remote/open-remote-server.ts');
    return openRemoteServer(server, configuration, egress, signal);
  };
