import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Answer } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { unexpectedFailures } from '../unexpected-failures.ts';
import { type RawRequest, rawRequest } from './raw-request.ts';

let product: StartedProduct;
let executePath: string;
beforeAll(async () => {
  product = await sharedProduct();
  executePath = `/api/v1/workflows/${(await makeWorkflow(product.api, { steps: [] })).id}/execute`;
});
afterAll(() => product.close());

const mebibyte = 1024 * 1024;
const path = '/api/v1/workflows';

/** Every request here has it, in the log of a process that others use too. */
const correlationId = randomUUID();
const ownLog = () => product.process.log.filter((line) => line.correlationId === correlationId);

const send = (body: RawRequest['body'], headers: RawRequest['headers'] = {}, at = path) =>
  rawRequest(product.process.api, {
    method: 'POST',
    path: at,
    headers: {
      authorization: `Bearer ${product.tenant.testKey}`,
      'content-type': 'application/json',
      'x-correlation-id': correlationId,
      ...headers,
    },
    ...(body !== undefined && { body }),
  });

function expectFailure(answer: Answer, status: number, code: string) {
  expect(answer).toMatchObject({ status, body: { success: false, error: { code } } });
  expect(answer.body.error.requestId).toBe(answer.headers.get('x-request-id'));
}

/** A body of exactly so many bytes. */
const ofSize = (bytes: number) => `{"name":"x","config":{"text":"${'x'.repeat(bytes - 33)}"}}`;
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('is read', () => {
  test.each<[string, string | Buffer]>([
    ['white space around', ' \r\n\t{"name":"x"}\n'],
    ['escaped characters', '{"n\\u0061me":"\\u0041\\ud83e\\udd8a"}'],
    ['64 levels', `{"name":"x","config":{"a":${nested(62)}}}`],
    ['brackets in texts', `{"name":"x","config":{"a":"${'['.repeat(100)}"}}`],
    ['the largest double', '{"name":"x","config":{"a":1.7976931348623157e308}}'],
    ['a number that underflows', '{"name":"x","config":{"a":1e-400}}'],
    ['a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('{"name":"x"}')])],
    ['a member given twice', '{"name":"first","name":"second"}'],
  ])('%s', async (_, body) => {
    expect(await send(body)).toMatchObject({ status: 201 });
  });

  test('a body in many chunks', async () => {
    expect(await send(['{"na', 'me":', '"x"}'])).toMatchObject({ status: 201, body: { data: { name: 'x' } } });
  });

  test.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON;charset="UTF-8"'])(
    'as %s',
    async (type) => {
      expect(await send('{"name":"x"}', { 'content-type': type })).toMatchObject({ status: 201 });
      expect(await send('{"input":"x"}', { 'content-type': type }, executePath)).toMatchObject({ status: 200 });
    },
  );
});

test('no body at all in chunks is refused as malformed', async () => {
  expectFailure(await send([], { 'transfer-encoding': 'chunked' }), 400, 'validation_error');
});

describe('of a size', () => {
  test('of 1 MiB is read', async () => {
    expect(Buffer.byteLength(ofSize(mebibyte))).toBe(mebibyte);
    expect(await send(ofSize(mebibyte))).toMatchObject({ status: 201 });
    expect(await send([ofSize(mebibyte)])).toMatchObject({ status: 201 });
  });

  test('one byte larger is refused, with a Content-Length and without one', async () => {
    const body = ofSize(mebibyte + 1);
    expectFailure(await send(body), 413, 'payload_too_large');
    expectFailure(await send([body.slice(0, mebibyte), body.slice(mebibyte)]), 413, 'payload_too_large');
  });

  test('counts in bytes, not in characters', async () => {
    expectFailure(await send(`{"name":"x","config":{"a":"${'ü'.repeat(mebibyte / 2)}"}}`), 413, 'payload_too_large');
  });

  test('much larger is refused before it has all arrived', async () => {
    const pieces = Array.from({ length: 8 }, () => 'x'.repeat(mebibyte));
    for (let round = 0; round < 10; round++) expectFailure(await send(pieces), 413, 'payload_too_large');
    expectFailure(await send([], { 'content-length': String(2 ** 40) }), 413, 'payload_too_large');
  });

  test('is of no interest to a caller who may not send it', async () => {
    const answer = await rawRequest(product.process.api, {
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', 'x-correlation-id': correlationId },
      body: ofSize(mebibyte + 1),
    });
    expectFailure(answer, 401, 'unauthorized');
  });
});

test('a body that its sender cuts off is no failure of ours', async () => {
  const { hostname, port } = new URL(product.process.api);
  const socket = connect(Number(port), hostname);
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${product.tenant.testKey}`;
  const rest = `X-Correlation-ID: ${correlationId}\r\nContent-Type: application/json\r\nContent-Length: 50`;
  socket.write(`${head}\r\n${rest}\r\n\r\n{"name":`);
  // Answered after the other has been taken up, and so is this one by then.
  expect(await send('{"name":"x"}')).toMatchObject({ status: 201 });
  socket.destroy();
  await once(socket, 'close');
  expect(await send('{"name":"x"}')).toMatchObject({ status: 201 });
  expect(ownLog().filter(({ level }) => Number(level) >= 40)).toEqual([]);
});

test('what is refused leaves the connection and the process in order', async () => {
  expect(await product.api.get('/v1/health')).toMatchObject({ status: 200 });
  expect(ownLog().length).toBeGreaterThan(0);
  expect(unexpectedFailures(ownLog())).toEqual([]);
});
