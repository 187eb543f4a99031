import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { unlessAborted } from '../../platform/concurrency/deadline.ts';
import type { Egress } from '../../platform/egress/egress.ts';
import type { StoredConfiguration } from '../configurations.ts';
import { connectMcp } from '../mcp-connection.ts';
import type { ToolServer } from '../servers/server.ts';
import type { ToolConnection } from '../tool.ts';
import { authorization } from './authorize.ts';
import { BoundedTransport } from './bounded-transport.ts';
import { egressFetch } from './egress-fetch.ts';

/** Longer than any call may take: its caller gives up first. */
const deadlineMs = 60_000;
/** For the request that ends a session. */
const farewellMs = 2_000;

function addressOf({ live, id }: ToolServer, { url, values }: StoredConfiguration): URL {
  const address = url ?? (live.kind === 'remote' ? live.address?.(values) : undefined);
  if (address === undefined) throw new Error(`The tool server ${id} has no address.`);
  return new URL(address);
}

/** One session with a server. */
interface Session {
  connection: ToolConnection;
  transport: StreamableHTTPClientTransport;
  /** Rejects when a request cannot be completed. */
  broken: Promise<never>;
  isBroken: boolean;
  /** Whether the server said that it does not know the session and therefore did nothing. */
  isForgotten: boolean;
}

async function begin(
  server: ToolServer,
  configuration: StoredConfiguration,
  egress: Pick<Egress, 'request'>,
  signal: AbortSignal,
): Promise<Session> {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => {});
  const state = { isBroken: false, isForgotten: false };
  const fail = (failure: Error) => {
    state.isBroken = true;
    broken.reject(failure);
  };
  const forgotten = () => {
    state.isForgotten = true;
  };
  const authorize = authorization(server, configuration, egress);
  const options = {
    fetch: egressFetch({ egress, deadlineMs, authorize, broken: fail, forgotten }),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1_000,
      maxReconnectionDelay: 1_000,
      reconnectionDelayGrowFactor: 1,
    },
  };
  const address = addressOf(server, configuration);
  const transport = new BoundedTransport(address, options, fail);
  const connecting = connectMcp(transport, signal, { mayBeStateless: true, isAlive: () => !state.isBroken });
  try {
    const connection = await Promise.race([connecting, broken.promise]);
    return Object.assign(state, { connection, transport, broken: broken.promise });
  } catch (error) {
    const { sessionId } = transport;
    // The server began a session. The transport was closed, which ends its requests: another one says farewell.
    if (sessionId !== undefined) {
      await farewell({ transport: new BoundedTransport(address, { ...options, sessionId }, fail), ...state });
    }
    throw error;
  }
}

/** Ends the session at the server, if it can be reached and knows it. */
async function farewell({
  transport,
  isBroken,
  isForgotten,
}: Pick<Session, 'transport' | 'isBroken' | 'isForgotten'>): Promise<void> {
  if (transport.sessionId === undefined || isBroken || isForgotten) return;
  const late = new Promise((resolve) => setTimeout(resolve, farewellMs).unref());
  await Promise.race([transport.terminateSession().catch(() => {}), late]);
}

async function end(session: Session): Promise<void> {
  await farewell(session);
  await session.connection.close();
}

/** Connects to a server of the Model Context Protocol over streamable HTTP. */
export async function openRemoteServer(
  server: ToolServer,
  configuration: StoredConfiguration,
  egress: Pick<Egress, 'request'>,
  signal: AbortSignal,
): Promise<ToolConnection> {
  let session = await begin(server, configuration, egress, signal);
  let renewing: Promise<void> | undefined;
  let isClosed = false;
  async function renew(forgotten: Session): Promise<void> {
    const begun = await begin(server, configuration, egress, AbortSignal.timeout(deadlineMs));
    if (isClosed) {
      await end(begun);
      throw new Error('The connection was closed.');
    }
    session = begun;
    await end(forgotten);
  }
  /** Asks once more, in a new session, when the server has forgotten this one. */
  async function ask<T>(asked: AbortSignal, work: (connection: ToolConnection) => Promise<T>): Promise<T> {
    const of = session;
    try {
      return await Promise.race([work(of.connection), of.broken]);
    } catch (error) {
      if (!of.isForgotten || asked.aborted) throw error;
      if (session === of) {
        // One for all who ask: the server would keep the sessions of the others.
        renewing ??= renew(of).finally(() => {
          renewing = undefined;
        });
        await unlessAborted(renewing, asked);
      }
      return await Promise.race([work(session.connection), session.broken]);
    }
  }
  return {
    list: (asked) => ask(asked, (connection) => connection.list(asked)),
    call: (tool, args, asked) => ask(asked, (connection) => connection.call(tool, args, asked)),
    get isOpen() {
      return session.connection.isOpen;
    },
    async close() {
      isClosed = true;
      await end(session);
    },
  };
}
