import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectRaw, type RawConnection, rawHead, residentBytes, statusesIn } from '../../api/raw-connection.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { until } from '../../until.ts';

const mib = 1024 * 1024;

let product: Product;
let tenant: Tenant;
let server: ProductProcess;
let api: ApiClient;

beforeAll(async () => {
  product = await openProduct();
  tenant = await product.createTenant();
  server = await product.start(['api'], { ANSWER_STALL_SECONDS: '4' });
  api = apiClient(server.api, tenant.testKey);
});
afterAll(() => product.close());

/** Connections that were closed because their client did not read. */
const closedForStalling = () => server.log.filter(({ reason }) => reason === 'stalled').length;

/**
 * What a client that reads receives, until so many answers have come. On a busy machine one of both sides may have no
 * processor for as long as a client may stall: then the conversation is begun again.
 */
const unlessStalled = (answers: number, converse: () => Promise<Buffer>): Promise<Buffer> =>
  until('a conversation comes to its end', async () => {
    const before = closedForStalling();
    const received = await converse();
    if (statusesIn(received).length === answers) return received;
    await until('it was closed for stalling', async () => closedForStalling() > before, 10_000);
    return false;
  });

/** 64 KiB of requests for the largest of the fixed files. */
const script = rawHead('GET', '/docs/scalar.js');
const manyScripts = script.repeat(Math.floor((64 * 1024) / script.length));

test('requests that are sent ahead and never read hold little memory, and their connections are closed', async () => {
  await (await fetch(`${server.api}/docs/scalar.js`)).arrayBuffer();
  const connections = await Promise.all(Array.from({ length: 20 }, () => connectRaw(server.api)));
  const before = residentBytes(server.pid);
  for (const { socket } of connections) socket.write(manyScripts);
  let growth = 0;
  await until('the connections are closed', async () => {
    growth = Math.max(growth, residentBytes(server.pid) - before);
    // Others are answered meanwhile.
    expect((await api.get('/api/v1/health')).status).toBe(200);
    return closedForStalling() >= connections.length;
  });
  expect(growth).toBeLessThan(100 * mib);
  for (const { socket } of connections) socket.destroy();
});

test('a client that reads slowly is not closed, and gets every byte', async () => {
  const whole = Buffer.from(await (await fetch(`${server.api}/docs/scalar.js`)).arrayBuffer());
  const requests = 24;
  const received = await unlessStalled(requests, async () => {
    const connection = await connectRaw(server.api);
    connection.socket.write(script.repeat(requests - 1) + rawHead('GET', '/docs/scalar.js', { Connection: 'close' }));
    let isClosed = false;
    void connection.closed.then(() => {
      isClosed = true;
    });
    while (!isClosed) {
      connection.readSome(512 * 1024);
      await sleep(50);
    }
    return connection.received;
  });
  expect(statusesIn(received)).toEqual(Array(requests).fill(200));
  expect(received.length).toBeGreaterThan(requests * 1_000_000);
  // fetch has decompressed it.
  expect(whole.length).toBeGreaterThan(0);
});

test('thousands of requests in one packet are answered in their order', async () => {
  const [good, bad] = [rawHead('GET', '/api/version'), rawHead('GET', '/nowhere')];
  const received = await unlessStalled(3_001, async () => {
    const connection = await connectRaw(server.api);
    connection.readOn();
    connection.socket.write(
      Array.from({ length: 3_000 }, (_, index) => (index % 3 === 0 ? bad : good)).join('') +
        rawHead('GET', '/api/version', { Connection: 'close' }),
    );
    await connection.closed;
    return connection.received;
  });
  const expected = Array.from({ length: 3_000 }, (_, index) => (index % 3 === 0 ? 404 : 200));
  expect(statusesIn(received)).toEqual([...expected, 200]);
});

test('requests with bodies that are sent ahead are each made, in order', async () => {
  const connection: RawConnection = await connectRaw(server.api);
  connection.readOn();
  const create = (name: string, last: boolean) => {
    const body = JSON.stringify({ name, description: 'x\r\n\r\n'.repeat(50), steps: [] });
    return (
      rawHead('POST', '/api/v1/workflows', {
        Authorization: `Bearer ${tenant.testKey}`,
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
        ...(last && { Connection: 'close' }),
      }) + body
    );
  };
  const names = Array.from({ length: 40 }, (_, index) => `Ahead ${index}`);
  connection.socket.write(names.map((name, index) => create(name, index === 39)).join(''));
  await connection.closed;
  expect(statusesIn(connection.received)).toEqual(Array(40).fill(201));
  const { body } = await api.get('/api/v1/workflows?limit=100');
  expect(body.data.workflows.map(({ name }: { name: string }) => name).toReversed()).toEqual(names);
});
