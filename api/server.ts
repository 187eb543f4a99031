import { once } from 'node:events';
import { createServer, IncomingMessage } from 'node:http';
import { Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import packageJson from '../package.json' with { type: 'json' };
import { commitOf } from '../src/operations/commit.ts';
import type { Services } from '../src/services.ts';
import { openApi } from './app.ts';
import { connectionOf, openConnection } from './connection/connection.ts';
import { OutgoingAnswer } from './connection/outgoing-answer.ts';
import { WaitingBytes } from './connection/waiting-bytes.ts';
import { awaitContinue } from './requests/expect-continue.ts';
import { refuseBytes, refuseConnect, refuseHead, refuseRequest } from './requests/unreadable-request.ts';

/** How often connections are checked for requests that arrive too slowly, at least: six times while one may arrive. */
const checkArrivalsEveryMs = 5_000;
/**
 * How long a draining process waits for the rest of requests, at most: a third of the time that they have otherwise. The
 * workers of the process drain after the API, and need most of the time that a process has for that.
 */
const lastArrivalsMs = 10_000;
/** Longer than clients and proxies keep idle connections, so that no request meets a connection being closed. */
const keepAliveMs = 75_000;
/** What clients have not taken, of all connections of an organization, and of all callers without a key. */
const maxWaitingBytes = 64 * 1024 * 1024;
/** How often idle connections are closed while draining. */
const closeIdleEveryMs = 50;
/** After this time a draining process closes connections on which nothing has come: browsers open some in advance. */
const silentMs = 1_000;

/** HTTP/1.0 has no Host, and some load balancers use it for their probes. */
const hostOfHttp10 = 'localhost';

/**
 * The refusals of RFC 9112 (3.2): a request without Host, and one with several, of which a proxy may use another one.
 */
function hostProblem({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  if (!headers.host && httpVersion !== '1.0') return 'The header Host is missing.';
  let hosts = 0;
  // Names and values alternate.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1 ? 'The header Host is given more than once.' : undefined;
}

interface ApiServer {
  port: number;
  /**
   * Reports not ready, waits until load balancers noticed, stops accepting connections, and resolves when the requests
   * in flight are answered and every connection is closed.
   */
  stop(): Promise<void>;
}

/**
 * Maximum number of bytes that are read ahead of a body's reader. Node reads ahead 64 KiB of every request, which are 65,000
 * pieces when each has one byte.
 */
const readAheadBytes = 16 * 1024;

/** Serves the API on HOST and PORT; port 0 takes any free one. */
export async function startApiServer(services: Services): Promise<ApiServer> {
  const { env, draining, log } = services;
  const { app, refuse } = openApi(services, {
    version: packageJson.version,
    commit: env.COMMIT_SHA ?? (await commitOf()),
  });
  const arrivalMs = env.REQUEST_ARRIVAL_SECONDS * 1000;
  // Replaces the global Request and Response, which would take a third of a request's time.
  const listener = getRequestListener(app.fetch, { hostname: hostOfHttp10, errorHandler: refuseRequest });
  const begin = (request: IncomingMessage, response: OutgoingAnswer): void => {
    const problem = hostProblem(request);
    if (problem) refuseHead(response, 400, problem);
    else if (!refuse(request, response)) void listener(request, response);
  };
  const answer = (request: IncomingMessage, response: OutgoingAnswer): void =>
    connectionOf(request)?.accept(response, () => begin(request, response));
  const waitingBytes = new WaitingBytes(
    { maxBytesPerOwner: maxWaitingBytes, maxStallMs: env.ANSWER_STALL_SECONDS * 1000 },
    (reason, organizationId) =>
      log.info({ reason, ...(organizationId && { organizationId }) }, 'a connection that is not read was closed'),
  );
  const server = createServer(
    {
      IncomingMessage,
      ServerResponse: OutgoingAnswer,
      // Checked above, for an answer with a body.
      requireHostHeader: false,
      requestTimeout: arrivalMs,
      headersTimeout: arrivalMs,
      keepAliveTimeout: keepAliveMs,
      highWaterMark: readAheadBytes,
      connectionsCheckingInterval: Math.min(checkArrivalsEveryMs, Math.ceil(arrivalMs / 6)),
    },
    answer,
  );
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    openConnection(socket, waitingBytes);
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('checkContinue', (request, response) => {
    awaitContinue(response);
    answer(request, response);
  });
  server.on('checkExpectation', (request, response) =>
    connectionOf(request)?.accept(response, () =>
      refuseHead(response, 417, 'The only supported value of the header Expect is 100-continue.'),
    ),
  );
  server.on('connect', (request, socket) => refuseConnect(socket, connectionOf(request)?.isIdle ?? false));
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
      // Not `server.close()`, which also ends the check for requests that arrive too slowly: one of them would keep the
      // process from stopping.
      Server.prototype.close.call(server);
      // A connection that was busy is kept alive after its answer and would stay open.
      const closing = setInterval(() => server.closeIdleConnections(), closeIdleEveryMs);
      // Node counts a connection without any request as busy.
      const silent = setTimeout(() => {
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      }, silentMs);
      // From then on the next check answers what has not arrived with 408.
      const late = setTimeout(
        () => {
          server.headersTimeout = 1;
          server.requestTimeout = 1;
        },
        Math.min(lastArrivalsMs, arrivalMs / 3),
      );
      await closed;
      clearInterval(closing);
      clearTimeout(silent);
      clearTimeout(late);
      waitingBytes.stop();
    },
  };
}
