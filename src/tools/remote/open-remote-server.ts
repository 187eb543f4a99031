import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Egress } from '../../platform/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import { connectMcp } from '../mcp-connection.ts';
import type { ToolServer } from '../servers/server.ts';
import type { ToolConnection } from '../tool.ts';
import { authorization } from './authorize.ts';
import { egressFetch } from './egress-fetch.ts';

/** Longer than any call may take: whoever waits gives up first. */
const deadlineMs = 60_000;
/** For telling a server that its session is over. */
const farewellMs = 2_000;

function addressOf({ live, id }: ToolServer, { url, values }: StoredConfiguration): URL {
  const address = url ?? (live.kind === 'remote' ? live.address?.(values) : undefined);
  if (address === undefined) throw new Error(`The tool server ${id} has no address.`);
  return new URL(address);
}

/** Connects to a server of the Model Context Protocol over streamable HTTP. */
export async function openRemoteServer(
  server: ToolServer,
  configuration: StoredConfiguration,
  egress: Pick<Egress, 'request'>,
  signal: AbortSignal,
): Promise<ToolConnection> {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  let isBroken = false;
  const transport = new StreamableHTTPClientTransport(addressOf(server, configuration), {
    fetch: egressFetch({
      egress,
      deadlineMs,
      authorize: authorization(server, configuration, egress),
      broken(failure) {
        isBroken = true;
        broken.reject(failure);
      },
    }),
    reconnectionOptions: {
      ...{ maxRetries: 0, initialReconnectionDelay: 1_000, maxReconnectionDelay: 1_000 },
      reconnectionDelayGrowFactor: 1,
    },
  });
  const connection = await Promise.race([
    connectMcp(transport, signal, { mayBeStateless: true, isAlive: () => !isBroken }),
    broken.promise,
  ]);
  return {
    list: (asked) => Promise.race([connection.list(asked), broken.promise]),
    call: (tool, args, asked) => Promise.race([connection.call(tool, args, asked), broken.promise]),
    get isOpen() {
      return connection.isOpen;
    },
    async close() {
      if (transport.sessionId !== undefined && !isBroken) {
        const late = new Promise((resolve) => setTimeout(resolve, farewellMs).unref());
        await Promise.race([transport.terminateSession().catch(() => {}), late]);
      }
      await connection.close();
    },
  };
}
