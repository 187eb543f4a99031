import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import type { ErrorKind } from '../../src/platform/errors.ts';
import { errorStatus } from '../errors/error-status.ts';
import { onEveryAnswer } from '../middleware/security-headers.ts';

const notHttp = 'The request is not valid HTTP.';

/** How long a client may take to read such an answer. */
const lingerMs = 1_000;

/** The problem of a request that Node cannot parse, by the code of Node's error. */
const meanings: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
};

/** Such a request reaches no route: its answer has the usual envelope and ids, and no dialect. */
function answerTo(kind: ErrorKind, message: string): { headers: Record<string, string>; body: string } {
  const requestId = randomUUID();
  return {
    headers: {
      ...onEveryAnswer,
      'content-type': 'application/json',
      'x-request-id': requestId,
      'x-correlation-id': randomUUID(),
      connection: 'close',
    },
    body: JSON.stringify({ success: false, error: { code: kind, message, requestId } }),
  };
}

/** Answers a request with an invalid head, such as a malformed Host. Any other error here is internal. */
export function refuseRequest(error: unknown): Response {
  const code = error instanceof RequestError ? 'validation_error' : 'internal_error';
  const message = error instanceof RequestError ? notHttp : 'Something went wrong on our side.';
  const { headers, body } = answerTo(code, message);
  return new Response(body, { status: errorStatus[code], headers });
}

/** Answers a request whose head breaks a rule of HTTP, and closes the connection. */
export function refuseHead(response: ServerResponse, status: number, message: string): void {
  const { headers, body } = answerTo('validation_error', message);
  response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
}

/** Answers a request that the HTTP parser refused, and closes the connection. */
export function refuseBytes(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = meanings[error.code ?? ''] ?? [400, notHttp];
  writeAnswer(socket, status, answerTo('validation_error', message));
}

/**
 * Refuses CONNECT, a request for a tunnel, and closes the connection.
 * @param isIdle no answer of the connection is under way; into one that is, nothing may be written
 */
export function refuseConnect(socket: Duplex, isIdle: boolean): void {
  socket.on('error', () => {});
  if (!isIdle) {
    socket.destroy();
    return;
  }
  const { headers, body } = answerTo('method_not_allowed', 'CONNECT is not allowed: this is not a proxy.');
  // RFC 9110 (15.5.6) wants the allowed methods; an authority has none.
  writeAnswer(socket, errorStatus.method_not_allowed, { headers: { ...headers, allow: '' }, body });
}

function writeAnswer(socket: Duplex, status: number, { headers, body }: ReturnType<typeof answerTo>): void {
  const lines = Object.entries({ ...headers, 'content-length': Buffer.byteLength(body) }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // A client that does not end its side would keep the connection, and a process that stops waits for every connection.
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}
