import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { httpServer } from '../loopback-server.ts';
import { longText, worstValues } from './worst-bodies.ts';

/** What a service answers that wants to cost much. */
export interface HostileAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** The body, which is all spaces, is sent in pieces of one byte. */
  hasSmallPieces?: boolean;
  /** The body is repeated for as long as it is read. */
  isEndless?: boolean;
}

/** Stands before a service: passes requests on, and answers them itself while it is armed. */
export interface HostileFront {
  origin: string;
  arm(answer: HostileAnswer | undefined): void;
  /** Requests that it answered itself since it was armed. */
  answered: number;
  close(): Promise<void>;
}

const megabyte = 1_000_000;
const json = { 'content-type': 'application/json' };
const ofValue = (name: string, bytes = 2 * megabyte): HostileAnswer => ({
  headers: json,
  body: worstValues[name]!(bytes),
});

/** The family of answers that every kind of service gives. */
export const hostileAnswers: Readonly<Record<string, HostileAnswer>> = {
  'deep arrays': ofValue('deep arrays', megabyte),
  'deep objects': ofValue('deep objects', megabyte),
  'many numbers': ofValue('many numbers'),
  'many objects': ofValue('many objects'),
  'many members': ofValue('many members', megabyte),
  'the most members': ofValue('the most members', megabyte),
  'the most shapes': ofValue('the most shapes', megabyte),
  'a megabyte in pieces of one byte': { headers: json, body: ' '.repeat(megabyte), hasSmallPieces: true },
  'a long text': ofValue('a long text'),
  'a long error': { status: 400, headers: json, body: JSON.stringify({ error: longText(megabyte) }) },
  'a long page of an error': { status: 502, headers: { 'content-type': 'text/html' }, body: longText(megabyte) },
  'an answer without an end': { headers: json, body: ' '.repeat(65_536), isEndless: true },
  '200 MB in a small file': {
    headers: Object.assign({ 'content-encoding': 'gzip' }, json),
    body: gzipSync(Buffer.alloc(200 * megabyte, ' '), { level: 1 }),
  },
  'long headers': {
    headers: Object.assign({ 'x-long': 'v'.repeat(12_000), 'retry-after': '9'.repeat(1_000) }, json),
    body: '{}',
  },
};

/** Waits until it takes more, or nothing any more. */
async function goesOn(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  waiting.abort();
}

async function pour(response: ServerResponse, body: string | Buffer): Promise<void> {
  while (!response.destroyed) {
    if (response.write(body)) await new Promise((resolve) => setImmediate(resolve));
    else await goesOn(response);
  }
}

function sendBytewise(socket: Socket, body: string): void {
  socket.on('error', () => {});
  socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
  socket.end(`${body.replaceAll(' ', '1\r\n \r\n')}0\r\n\r\n`);
}

function passOn(request: IncomingMessage, response: ServerResponse, target: string): void {
  const { method, headers, url = '/' } = request;
  const onward = send(target + url, { method: method ?? 'GET', headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}

/** @param target where requests go while it is not armed */
export async function openFront(target: string): Promise<HostileFront> {
  let armed: HostileAnswer | undefined;
  const server = await httpServer((request, response) => {
    if (!armed) return passOn(request, response, target);
    front.answered++;
    const { status = 200, headers = {}, body = '', isEndless, hasSmallPieces } = armed;
    request.resume();
    if (hasSmallPieces) return sendBytewise(request.socket, String(body));
    response.writeHead(status, headers);
    if (isEndless) void pour(response, body);
    else response.end(body);
  });
  const front: HostileFront = {
    origin: `http://127.0.0.1:${server.port}`,
    answered: 0,
    arm(answer) {
      armed = answer;
      front.answered = 0;
    },
    close: () => server.close(),
  };
  return front;
}
