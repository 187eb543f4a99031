import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import packageJson from '../package.json' with { type: 'json' };
import { commitOf } from '../src/operations/commit.ts';
import type { Services } from '../src/services.ts';
import { buildApp } from './app.ts';
import { refuseBytes, refuseRequest } from './unreadable-request.ts';

/** How often connections are checked for requests that do not arrive. */
const checkArrivalsEveryMs = 5_000;
/** Longer than clients and proxies keep a connection, so that it is never closed under a request. */
const keepAliveMs = 75_000;
/** While draining, how soon a connection is closed after its last answer. */
const closeIdleEveryMs = 50;

export interface ApiServer {
  port: number;
  /** Says so at `/api/ready`, stops accepting when that had time to be noticed, answers what is in flight, and resolves when the last connection is gone. */
  stop(): Promise<void>;
}

/** Serves the API on HOST and PORT; port 0 takes any free one. */
export async function startApiServer(services: Services): Promise<ApiServer> {
  const { env, draining } = services;
  const app = buildApp(services, {
    version: packageJson.version,
    commit: env.COMMIT_SHA ?? (await commitOf()),
  });
  const arrivalMs = env.REQUEST_ARRIVAL_SECONDS * 1000;
  const server = createServer(
    {
      requestTimeout: arrivalMs,
      headersTimeout: arrivalMs,
      keepAliveTimeout: keepAliveMs,
      connectionsCheckingInterval: Math.min(checkArrivalsEveryMs, arrivalMs),
    },
    // Puts Request and Response of its own in the place of Node's, which cost it a third of a request's time.
    getRequestListener(app.fetch, { errorHandler: refuseRequest }),
  );
  server.on('clientError', refuseBytes);
  server.listen(env.PORT, env.HOST);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    port: address.port,
    async stop() {
      draining.abort();
      await sleep(env.DRAIN_NOTICE_SECONDS * 1000);
      const closed = once(server, 'close');
      server.close();
      // A connection that was busy a moment ago is kept alive after its answer, and nobody else would close it.
      const closing = setInterval(() => server.closeIdleConnections(), closeIdleEveryMs);
      await closed;
      clearInterval(closing);
    },
  };
}
