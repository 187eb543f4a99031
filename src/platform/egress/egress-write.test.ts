import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { httpServer, type LoopbackServer } from '../../../test/loopback-server.ts';
import { until } from '../../../test/until.ts';
import { Egress, type EgressRequest } from './egress.ts';
import { egressRules } from './egress-destination.ts';

/** Bodies that are passed on a piece at a time. The server sends as many bytes as the path says. */

const rules = egressRules({ NODE_ENV: 'test', EGRESS_ALLOW_CIDRS: ['127.0.0.1/32'] });
let server: LoopbackServer;
let egress: Egress;
const content = Buffer.alloc(20_000_000, 'of the file');

beforeAll(async () => {
  server = await httpServer(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const body = content.subarray(0, Number(pathname.slice(1)));
    const status = Number(searchParams.get('status') ?? 200);
    response.writeHead(status, { 'content-length': body.length }).end(body);
  });
  egress = new Egress(rules);
});
afterAll(async () => {
  await egress.close();
  await server.close();
});

function request(
  path: string,
  write: NonNullable<EgressRequest['write']>,
  more: Partial<EgressRequest> = {},
  from = egress,
) {
  const url = `http://127.0.0.1:${server.port}/${path}`;
  return from.request({ url, method: 'GET', deadlineMs: 20_000, maxResponseBytes: content.length, write, ...more });
}

function writer() {
  const hash = createHash('sha256');
  const seen = { bytes: 0, open: 0, maxOpen: 0, largest: 0 };
  const write = async (piece: Buffer) => {
    seen.maxOpen = Math.max(seen.maxOpen, ++seen.open);
    seen.largest = Math.max(seen.largest, piece.length);
    // Sometimes at once and sometimes later, as disks do.
    if (piece.length % 2 === 0) await yieldToEventLoop();
    hash.update(piece);
    seen.bytes += piece.length;
    seen.open--;
  };
  return { seen, write, digest: () => hash.digest('hex') };
}
const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

test('files of any size arrive whole, one piece after another', async () => {
  const before = server.connections;
  for (const size of [1, 10_000, 120_000, 1_764_044, content.length, 0]) {
    const { seen, write, digest } = writer();
    const { status, body, truncated } = await request(String(size), write);
    expect({ status, body: body.length, truncated, bytes: seen.bytes }).toEqual({
      status: 200,
      body: 0,
      truncated: false,
      bytes: size,
    });
    expect(digest()).toBe(digestOf(content.subarray(0, size)));
    expect(seen.maxOpen).toBeLessThanOrEqual(1);
    expect(seen.largest).toBeLessThan(1_000_000);
  }
  expect(server.connections - before).toBeLessThanOrEqual(2);
});

test('a server that closes at once, while pieces wait to be written, ends nothing but its connection', async () => {
  const closing = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      const body = content.subarray(0, 2_000_000);
      socket.end(
        Buffer.concat([
          Buffer.from(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`),
          body,
        ]),
      );
    });
  }).listen(0, '127.0.0.1');
  await once(closing, 'listening');
  const url = `http://127.0.0.1:${(closing.address() as AddressInfo).port}/`;
  let written = 0;
  const write = async (piece: Buffer) => {
    // Longer than the end of the connection takes to arrive.
    for (let rounds = 0; rounds < 50; rounds++) await yieldToEventLoop();
    written += piece.length;
  };
  const limits = { deadlineMs: 20_000, maxResponseBytes: content.length };
  const outcome = await egress.request({ url, method: 'GET', write, ...limits }).catch((error: Error) => error);
  if (!(outcome instanceof Error)) expect([outcome.status, written]).toEqual([200, 2_000_000]);
  expect((await request('1000', writer().write)).status).toBe(200);
  closing.close();
});

test('what exceeds the limit is not written, and the rest is not read', async () => {
  const { seen, write } = writer();
  const own = new Egress(rules);
  const before = server.open;
  const limited = request(String(content.length), write, { maxResponseBytes: 300_000 }, own);
  expect((await limited).truncated).toBe(true);
  expect(seen.bytes).toBe(300_000);
  await until('the connection is closed', async () => server.open === before);
  await own.close();
});

test('the body of another status is returned and not written', async () => {
  const { seen, write } = writer();
  const { status, body } = await request('11?status=404', write);
  expect([status, body.toString(), seen.bytes]).toEqual([404, 'of the file', 0]);
});

test('an error of the writer ends the request and is thrown as it is', async () => {
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
  let pieces = 0;
  const failing = request(String(content.length), async () => {
    if (++pieces === 3) throw full;
  });
  await expect(failing).rejects.toBe(full);
  expect(pieces).toBe(3);
});

test('a writer that never ends is bounded by the deadline', async () => {
  const never = new Promise<void>(() => {});
  const waiting = request(String(content.length), () => never, { deadlineMs: 100 });
  await expect(waiting).rejects.toMatchObject({ errorClass: 'timeout' });
});
