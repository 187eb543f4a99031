import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import packageJson from '../package.json' with { type: 'json' };
import { commitOf } from '../src/operations/commit.ts';
import type { Services } from '../src/services.ts';
import { buildApp } from './app.ts';
import { refuseBytes, refuseRequest } from './unreadable-request.ts';

/** How often connections are checked for requests that arrive too slowly. */
const checkArrivalsEveryMs = 5_000;
/** Longer than clients and proxies keep idle connections, so that no request meets a connection being closed. */
const keepAliveMs = 75_000;
/** How often idle connections are closed while draining. */
const closeIdleEveryMs = 50;

export interface ApiServer {
  port: number;
  /**
   * Reports not ready, waits until load balancers noticed, stops accepting connections, and resolves when the requests
   * in flight are answered and every connection is closed.
   */
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
    // Replaces the global Request and Response, which would take a third of a request's time.
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
      // A connection that was busy is kept alive after its answer and would stay open.
      const closing = setInterval(() => server.closeIdleConnections(), closeIdleEveryMs);
      await closed;
      clearInterval(closing);
    },
  };
}
