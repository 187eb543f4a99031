import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { walkOperations } from '../walk/walked-operations.ts';
import { batchesOf, type Input, type Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { servedRoutes } from './served-routes.ts';

// Every address that can be read: far more than it takes alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
/** `GET path` with parameters in braces, of both kinds of doors. */
let readable: { door: string; path: string; needsKey: boolean }[];

beforeAll(async () => {
  product = await startMeasured();
  const { operations } = await walkOperations(product.api, product.database);
  const paths = new Map(
    operations.filter(({ needsKey }) => needsKey).map(({ endpoint, ownPath }) => [endpoint, ownPath]),
  );
  readable = (await servedRoutes())
    .filter(({ method, path }) => method === 'GET' && !path.startsWith('/v1/'))
    .map(({ endpoint: door, path }) => ({
      door,
      path: paths.get(door) ?? path.replaceAll(/\{\w+\}/g, 'a'.repeat(43)),
      needsKey: paths.has(door),
    }));
});
afterAll(() => product.close());

/** As a program that never reads. */
async function openUnread(text: string): Promise<Socket> {
  const socket = connect(Number(new URL(product.process.api).port), '127.0.0.1');
  socket.on('error', () => {});
  // Without a listener for data nothing is read, so the end of a refused connection is not noticed either.
  await once(socket, 'connect');
  socket.write(text);
  return socket;
}

const requestOf = (path: string, headers: Record<string, string> = {}) => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${path} HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n`;
};

const withKey = () => ({ authorization: `Bearer ${product.testKey}` });

/** Sends these on connections of their own, does not read, and waits until the process has done what it does. */
function unread(texts: string[], input: Input): Probe {
  let sockets: Socket[] = [];
  return {
    input,
    settles: true,
    async send() {
      sockets = await Promise.all(texts.map(openUnread));
      return {};
    },
    end() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

const leaveUnread = (texts: string[], input: Input) => product.walk.sendAll([unread(texts, input)]);

const sentAhead = 64 * 1024;
/** What their connections hold together is less than one may. */
const doorsTogether = 4;

test('requests that are sent ahead on one connection and never read hold little, whatever they ask for', async () => {
  const probes: Probe[] = [];
  for (const { door, path, needsKey } of readable) {
    const headers: Record<string, string> = needsKey ? withKey() : {};
    await exchange(product.process.api, { method: 'GET', path, headers });
    const request = requestOf(path, headers);
    const text = request.repeat(Math.floor(sentAhead / request.length));
    probes.push(unread([text], { door, name: 'sent ahead and unread' }));
  }
  for (const few of batchesOf(probes, doorsTogether)) await product.walk.sendAll(few);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('the largest file without a key, on three connections, blocks no other caller', async () => {
  const text = requestOf('/docs/scalar.js').repeat(1_500);
  await leaveUnread([text, text, text], { door: 'GET /docs/scalar.js', name: 'unread on three connections' });
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});

test('forty unread lists of times hold no more than an organization may', async () => {
  const hours = Object.fromEntries(
    ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'].map((day) => [day, ['00:00-24:00']]),
  );
  const put = await product.api.request('PUT', '/api/v1/scheduling/business-hours', { default: hours });
  expect(put.status).toBe(200);
  const { body } = await product.api.post('/api/v1/scheduling/event-types', { name: 'Short', duration: 1 });
  const pathTo = (end: string) =>
    `/api/v1/scheduling/availability?eventTypeId=${body.data.id}&start=2036-06-01&end=${end}`;
  // The longest list that is not refused.
  const ends = ['2036-08-31', '2036-06-07', '2036-06-06', '2036-06-03', '2036-06-01'];
  const statuses: [string, number][] = [];
  for (const end of ends) statuses.push([end, (await product.api.get(pathTo(end))).status]);
  expect(statuses[0]![1]).toBe(400);
  const [end] = statuses.find(([, status]) => status === 200)!;
  const text = requestOf(pathTo(end), withKey());
  const input = { door: 'GET /api/v1/scheduling/availability', name: 'forty unread' };
  await leaveUnread(
    Array.from({ length: 40 }, () => text),
    input,
  );
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('bodies in pieces of one byte cost little', async () => {
  const part = '--b\r\ncontent-disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n';
  const doors: [string, string, string][] = [
    ['/api/voice/stt', 'multipart/form-data; boundary=b', `${part.length.toString(16)}\r\n${part}\r\n`],
    ['/api/v1/workflows', 'application/json', ''],
  ];
  for (const [path, type, begin] of doors) {
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: a',
      `authorization: Bearer ${product.testKey}`,
      `content-type: ${type}`,
      'transfer-encoding: chunked',
    ];
    const text = `${head.join('\r\n')}\r\n\r\n${begin}${'1\r\n \r\n'.repeat(500_000)}`;
    await leaveUnread([text], { door: `POST ${path}`, name: 'a body in pieces of one byte' });
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});

test('bodies that never end hold no more than their callers may, with and without a key', async () => {
  const { port } = new URL(product.process.api);
  const bodyOf = (path: string, headers: string) =>
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n${headers}content-type: application/json\r\ncontent-length: 1048576\r\n\r\n${'x'.repeat(1_000_000)}`;
  const doors: [string, string][] = [
    ['/api/v1/workflows', `authorization: Bearer ${product.testKey}\r\n`],
    ['/api/v1/integrations/slack/events', ''],
    ['/api/performance/vitals', ''],
  ];
  for (const [path, headers] of doors) {
    const texts = Array.from({ length: 100 }, () => bodyOf(path, headers));
    await leaveUnread(texts, { door: `POST ${path}`, name: 'a hundred bodies without an end' });
  }
  expect(product.walk.takeExcesses()).toEqual([]);
  await until('others are served', () => isServing(product.process.api));
});
