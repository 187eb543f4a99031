import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { connectRaw, rawHead, statusesIn } from './raw-connection.ts';

let product: StartedProduct;
let base: string;
let api: ApiClient;

beforeAll(async () => {
  product = await sharedProduct();
  base = product.process.api;
  ({ api } = product);
});
afterAll(() => product.close());

const json = () => ({ Authorization: `Bearer ${product.tenant.testKey}`, 'Content-Type': 'application/json' });

test.each([
  ['a length', (bytes: Buffer) => bytes, { 'Content-Length': String(512 * 1024 * 1024) }],
  [
    'chunks',
    (bytes: Buffer) => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
    { 'Transfer-Encoding': 'chunked' },
  ],
])(
  'a client that goes on sending a body with %s that is too large reads the answer, and its connection is closed',
  async (_, frame, headers) => {
    const connection = await connectRaw(base);
    connection.readOn();
    let isClosed = false;
    void connection.closed.then(() => {
      isClosed = true;
    });
    connection.socket.write(rawHead('POST', '/api/v1/workflows', { ...json(), ...headers }));
    const piece = frame(Buffer.alloc(256 * 1024, ' '));
    while (!isClosed) {
      if (connection.socket.writable && !connection.socket.writableNeedDrain) connection.socket.write(piece);
      await sleep(5);
    }
    const { received } = connection;
    expect(statusesIn(received)).toEqual([413]);
    expect(received.toString()).toMatch(/^connection: close\r$/im);
    expect(received.toString()).toMatch(/"code":"payload_too_large".*\}$/);
  },
);

test('a correlation id that is none is replaced, and the request is served', async () => {
  for (const id of ['with space', 'x'.repeat(129), 'ü', '<script>']) {
    const answer = await api.get('/api/v1/health', { 'x-correlation-id': Buffer.from(id).toString('latin1') });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-correlation-id')).toMatch(/^[0-9a-f-]{36}$/);
  }
  const { body } = await api.get('/openapi.json');
  expect(body.components.parameters.CorrelationId.schema).toEqual({ type: 'string' });
});

test('the trigger of a workflow that does not exist has the headers of limits where the key is valid', async () => {
  const missing = '0199c0de-0000-7000-8000-000000000000';
  for (const path of [
    `/api/v1/webhooks/${missing}`,
    '/api/v1/webhooks/none',
    `/v1/webhooks/wf_${missing.replaceAll('-', '')}`,
  ]) {
    const answer = await api.post(path, {});
    expect(answer.status).toBe(404);
    expect(answer.headers.get('x-ratelimit-limit')).toMatch(/^\d+$/);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  }
  const bySecret = await api.post(`/api/v1/webhooks/${missing}/trg_${'x'.repeat(40)}`, {});
  expect(bySecret.status).toBe(404);
  expect(bySecret.headers.get('x-ratelimit-limit')).toMatch(/^\d+$/);
});

test('a body in pieces of one byte is refused before it costs much', async () => {
  const connection = await connectRaw(base);
  connection.readOn();
  connection.socket.write(rawHead('POST', '/api/v1/workflows', { ...json(), 'Transfer-Encoding': 'chunked' }));
  connection.socket.write('1\r\n \r\n'.repeat(500_000));
  await connection.closed;
  expect(statusesIn(connection.received)).toEqual([400]);
  expect(connection.received.toString()).toContain('too many small pieces');
  // A client that is only slow may send small pieces.
  const slow = await connectRaw(base);
  slow.readOn();
  const body = JSON.stringify({ name: 'Slow', description: 'x'.repeat(400) });
  const headers = { ...json(), 'Transfer-Encoding': 'chunked', Connection: 'close' };
  slow.socket.write(rawHead('POST', '/api/v1/workflows', headers));
  for (const byte of body) slow.socket.write(`1\r\n${byte}\r\n`);
  slow.socket.write('0\r\n\r\n');
  await slow.closed;
  expect(statusesIn(slow.received)).toEqual([201]);
});

test('HEAD of the events of a run opens no stream', async () => {
  const { testKey } = await product.createTenant({ plan: 'free' });
  const client = apiClient(base, testKey);
  const { id } = (await client.post('/api/v1/workflows', { name: 'Followed' })).body.data;
  const { runId } = (await client.post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, { 'x-api-variant': 'B' }))
    .body.data;
  // More than the streams that the plan has.
  for (let count = 0; count < 12; count++) {
    expect((await client.request('HEAD', `/api/v1/runs/${runId}/events`)).status).toBe(200);
  }
  const following = await fetch(`${base}/api/v1/runs/${runId}/events`, {
    headers: { authorization: `Bearer ${testKey}` },
  });
  expect(following.status).toBe(200);
  await following.body?.cancel();
});
