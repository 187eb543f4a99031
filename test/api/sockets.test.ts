import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
let tenant: Tenant;
let base: URL;
let api: ApiClient;
/** A process that waits a second for a request to arrive: too short for those that do, on a busy machine. */
let hurried: URL;

beforeAll(async () => {
  product = await sharedProduct();
  ({ tenant } = product);
  const [{ api: url }, { api: hurriedUrl }] = await Promise.all([
    product.serve(),
    product.serve({ REQUEST_ARRIVAL_SECONDS: '1' }),
  ]);
  [base, hurried] = [new URL(url), new URL(hurriedUrl)];
  api = apiClient(url, tenant.testKey);
});
afterAll(() => product.close());

/** Sends bytes and hears everything that comes back until the other side ends the connection. */
function converse(bytes: string, { port, hostname } = base): { socket: Socket; ended: Promise<string> } {
  const socket = connect(Number(port), hostname, () => socket.write(bytes));
  let received = '';
  socket.on('data', (data) => {
    received += data;
  });
  socket.on('error', () => {});
  return { socket, ended: new Promise((resolve) => socket.on('close', () => resolve(received))) };
}

const statusLines = (received: string) => received.match(/HTTP\/1\.1 \d{3}/g) ?? [];
const head = (path: string, headers: string[]) =>
  [`POST ${path} HTTP/1.1`, `Host: ${base.host}`, `Authorization: Bearer ${tenant.testKey}`, ...headers].join('\r\n');
const json = 'Content-Type: application/json';

describe('a request that does not arrive', () => {
  test.each([
    ['with half a header', () => `GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Half`],
    ['with half a body', () => `${head('/api/v1/workflows', [json, 'Content-Length: 100'])}\r\n\r\n{"name":`],
    [
      'with a chunk that never comes',
      () => `${head('/api/v1/workflows', [json, 'Transfer-Encoding: chunked'])}\r\n\r\n5\r\n{"n`,
    ],
  ])('%s is cut, and no other client waits for it', async (_, bytes) => {
    const slow = Array.from({ length: 50 }, () => converse(bytes(), hurried));
    // A process that had no processor for as long takes any request for one that does not arrive, with 408 or no answer.
    const headers = { authorization: `Bearer ${tenant.testKey}` };
    await until('another client is answered', () =>
      fetch(new URL('/api/v1/health', hurried), { headers }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
    for (const received of await Promise.all(slow.map(({ ended }) => ended))) {
      expect(statusLines(received).filter((line) => line.endsWith('200') || line.endsWith('201'))).toEqual([]);
    }
    expect((await api.get('/api/v1/workflows')).body.data.pagination.total).toBe(0);
  });
});

test('a process that stops waits for no connection on which no request arrives', async () => {
  const arrivalMs = 15_000;
  const bytes = [
    '',
    'GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Half',
    `${head('/api/v1/workflows', [json, 'Content-Length: 100'])}\r\n\r\n{"name":`,
  ];
  // They do not have all of the time that they would have otherwise. A busy machine may take as long by itself, not always.
  await until('a process stops before that', async () => {
    const stopped = await product.start(['api'], { REQUEST_ARRIVAL_SECONDS: String(arrivalMs / 1_000) });
    const { port, hostname } = new URL(stopped.api);
    const held = bytes.map((some) => {
      // It never ends its side.
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
      socket.on('error', () => {}).resume();
      socket.write(some);
      return socket;
    });
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    const began = performance.now();
    expect(await stopped.stop()).toBe(0);
    const tookMs = performance.now() - began;
    for (const socket of held) socket.destroy();
    return tookMs < arrivalMs - 2_000;
  });
});

describe('bytes that two servers could read differently', () => {
  const body = '0\r\n\r\nGET /api/v1/health HTTP/1.1\r\nHost: smuggled\r\n\r\n';
  test.each([
    ['two lengths', [json, 'Content-Length: 5', 'Content-Length: 6']],
    ['a length and chunks', [json, `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked']],
    ['an encoding in disguise', [json, 'Transfer-Encoding: xchunked']],
    ['an encoding that ends in another', [json, 'Transfer-Encoding: chunked, identity']],
    ['two encodings', [json, 'Transfer-Encoding: identity', 'Transfer-Encoding: chunked', 'Content-Length: 5']],
    ['a length with a sign', [json, 'Content-Length: +5']],
    ['a list of lengths', [json, 'Content-Length: 5, 5']],
    ['a length in hexadecimal', [json, 'Content-Length: 0x5']],
    ['a bare carriage return', [json, 'X-Bare: a\rContent-Length: 5']],
    ['a name with a NUL', [json, 'X-\0: a', 'Content-Length: 5']],
    ['a space before the colon', [json, 'Content-Length : 5']],
    ['a folded header', [json, 'X-Folded: a', ' b', 'Content-Length: 5']],
  ])('%s are refused, and what follows is not taken for a request', async (_, headers) => {
    const { ended } = converse(`${head('/api/v1/workflows', headers)}\r\n\r\n${body}`);
    const lines = statusLines(await ended);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/ 4\d\d$/);
  });
});

test.each([
  ['whose size is no number', 'zz\r\n{}\r\n0\r\n\r\n'],
  ['whose size has a sign', '-2\r\n{}\r\n0\r\n\r\n'],
  ['whose size is larger than any', `${'f'.repeat(20)}\r\n{}\r\n0\r\n\r\n`],
  ['that is longer than its size', '2\r\n{"name":"x"}\r\n0\r\n\r\n'],
  ['that ends in a line feed alone', '2\n{}\n0\n\n'],
])('a chunk %s is refused, and the connection with it', async (_, chunks) => {
  const lines = statusLines(
    await converse(
      `${head('/api/v1/workflows', [json, 'Transfer-Encoding: chunked'])}\r\n\r\n${chunks}GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n`,
    ).ended,
  );
  expect(lines.length).toBeLessThanOrEqual(1);
  for (const line of lines) expect(line).toMatch(/ 4\d\d$/);
  expect((await api.get('/api/v1/workflows')).body.data.pagination.total).toBe(0);
});

test('a flood of headers is refused', async () => {
  const flood = Array.from({ length: 2_000 }, (_, index) => `X-${index}: ${'x'.repeat(20)}`);
  expect(statusLines(await converse(`${head('/api/v1/workflows', flood)}\r\n\r\n`).ended)).toEqual(['HTTP/1.1 431']);
  expect((await api.get('/api/v1/health')).status).toBe(200);
});

/** The body of the last answer in what came back. */
const bodyOf = (received: string) => JSON.parse(received.slice(received.lastIndexOf('\r\n\r\n') + 4));

describe('HTTP/1.0', () => {
  test('needs no Host: load balancers probe so', async () => {
    const received = await converse('GET /api/health HTTP/1.0\r\n\r\n').ended;
    expect(statusLines(received)).toEqual(['HTTP/1.1 200']);
    expect(bodyOf(received)).toMatchObject({ status: expect.any(String) });
    expect(statusLines(await converse('GET /api/ready HTTP/1.0\r\nHost: x\r\n\r\n').ended)).toHaveLength(1);
  });

  test('is answered like any request', async () => {
    const request = `GET /api/v1/health HTTP/1.0\r\nAuthorization: Bearer ${tenant.testKey}\r\n\r\n`;
    expect(statusLines(await converse(request).ended)).toEqual(['HTTP/1.1 200']);
    expect(statusLines(await converse('GET /nowhere HTTP/1.0\r\n\r\n').ended)).toEqual(['HTTP/1.1 404']);
  });
});

describe('a head that breaks a rule of HTTP is refused with a JSON body', () => {
  test.each([
    ['HTTP/1.1 without Host', 'GET /api/health HTTP/1.1\r\n\r\n', 400],
    ['two Hosts', 'GET /api/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['the same Host twice', 'GET /api/health HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400],
    ['HTTP/1.1 with an empty Host', 'GET /api/health HTTP/1.1\r\nHost:\r\n\r\n', 400],
    ['an unknown expectation', 'GET /api/health HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n', 417],
  ])('%s', async (_, bytes, status) => {
    const received = await converse(bytes).ended;
    expect(statusLines(received)).toEqual([`HTTP/1.1 ${status}`]);
    expect(received).toMatch(/^content-type: application\/json\r$/im);
    expect(received).toMatch(/^x-content-type-options: nosniff\r$/im);
    const requestId = /^x-request-id: (\S+)\r$/im.exec(received)![1];
    expect(bodyOf(received)).toEqual({
      success: false,
      error: { code: 'validation_error', message: expect.stringMatching(/\w/), requestId },
    });
  });
});

test('CONNECT is refused in the envelope: the API is no proxy', async () => {
  const answer = await converse('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n').ended;
  expect(statusLines(answer)).toEqual(['HTTP/1.1 405']);
  expect(answer).toMatch(/^allow: ?\r$/im);
  expect(bodyOf(answer)).toMatchObject({ success: false, error: { code: 'method_not_allowed' } });
});

describe('Expect: 100-continue', () => {
  const body = JSON.stringify({ name: 'Expected', steps: [] });
  const expecting = (headers: string[]) =>
    `${head('/api/v1/workflows', [json, 'Expect: 100-continue', ...headers])}\r\n\r\n`;

  test('a body within the limit is asked for, and the connection stays open', async () => {
    const { socket, ended } = converse(expecting([`Content-Length: ${body.length}`]));
    await new Promise((resolve) => socket.once('data', resolve));
    socket.write(`${body}GET /api/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect(statusLines(await ended)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 201', 'HTTP/1.1 200']);
  });

  test('a body over the limit is refused before it is sent', async () => {
    const received = await converse(expecting(['Content-Length: 2000000'])).ended;
    expect(statusLines(received)).toEqual(['HTTP/1.1 413']);
    expect(bodyOf(received).error).toMatchObject({ code: 'payload_too_large' });
    expect(received).toMatch(/^connection: close\r$/im);
  });

  test('a caller who is refused is not asked for a body, and what it sends is not taken for a request', async () => {
    const smuggled = 'GET /api/version HTTP/1.1\r\nHost: x\r\n\r\n';
    const anonymous = expecting([`Content-Length: ${smuggled.length}`]).replace(/Authorization.*\r\n/, '');
    for (const bytes of [anonymous, anonymous + smuggled]) {
      expect(statusLines(await converse(bytes).ended)).toEqual(['HTTP/1.1 401']);
    }
  });

  test('a body in chunks that exceeds the limit is refused', async () => {
    const { socket, ended } = converse(expecting(['Transfer-Encoding: chunked']));
    await new Promise((resolve) => socket.once('data', resolve));
    const chunk = `${(200_000).toString(16)}\r\n${' '.repeat(200_000)}\r\n`;
    socket.write(`${chunk.repeat(6)}0\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.end();
    expect(statusLines(await ended)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 413']);
  });
});
