import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Answer } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { startProduct } from '../product.ts';
import { unexpectedFailures } from '../unexpected-failures.ts';
import { type RawRequest, rawRequest } from './raw-request.ts';

let product: Awaited<ReturnType<typeof startProduct>>;
let executePath: string;
beforeAll(async () => {
  product = await startProduct();
  executePath = `/api/v1/workflows/${(await makeWorkflow(product.api, { steps: [] })).id}/execute`;
});
afterAll(() => product.close());

const mebibyte = 1024 * 1024;
const path = '/api/v1/workflows';

const send = (body: RawRequest['body'], headers: RawRequest['headers'] = {}, at = path) =>
  rawRequest(product.process.api, {
    method: 'POST',
    path: at,
    headers: { authorization: `Bearer ${product.tenant.testKey}`, 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body }),
  });

function expectFailure(answer: Answer, status: number, code: string) {
  expect(answer).toMatchObject({ status, body: { success: false, error: { code } } });
  expect(answer.body.error.requestId).toBe(answer.headers.get('x-request-id'));
}

/** A body of exactly so many bytes. */
const ofSize = (bytes: number) => `{"name":"x","config":{"text":"${'x'.repeat(bytes - 33)}"}}`;
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe('is refused as malformed', () => {
  test.each<[string, string | Buffer]>([
    ['an empty body', ''],
    ['white space alone', ' \n'],
    ['half an object', '{"name":"x"'],
    ['a trailing comma', '{"name":"x",}'],
    ['a comment', '{"name":"x"} // y'],
    ['single quotes', "{'name':'x'}"],
    ['two documents', '{"name":"x"}{"name":"y"}'],
    ['NaN', '{"name":"x","config":{"a":NaN}}'],
    ['a leading zero', '{"name":"x","config":{"a":01}}'],
    ['a raw control character in a text', '{"name":"a\u0001b"}'],
    ['an unknown escape', '{"name":"\\x41"}'],
    ['NUL written as an escape', '{"name":"a\\u0000b"}'],
    ['NUL in the name of a member', '{"name":"x","config":{"\\u0000":1}}'],
    ['a raw NUL', '{"name":"a\0b"}'],
    ['a lone high surrogate', '{"name":"\\ud800"}'],
    ['a lone low surrogate', '{"name":"x","config":{"a":["\\udc00"]}}'],
    ['surrogates in the wrong order', '{"name":"\\udc00\\ud800"}'],
    ['a number beyond a double', '{"name":"x","config":{"a":1e400}}'],
    ['a negative one', '{"name":"x","config":{"a":-1e400}}'],
    ['65 levels of arrays', `{"name":"x","config":{"a":${nested(63)}}}`],
    ['a hundred thousand levels', nested(100_000)],
    ['invalid UTF-8', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')])],
    ['UTF-16', Buffer.from('{"name":"x"}', 'utf16le')],
    ['an overlong NUL', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')])],
    [
      'a surrogate in UTF-8',
      Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
    ],
  ])('%s', async (_, body) => {
    const answer = await send(body);
    expectFailure(answer, 400, 'validation_error');
    expect(answer.body.error.details.errors).toEqual([{ path: '', message: expect.any(String) }]);
    if (body.length > 0) expectFailure(await send(body, {}, executePath), 400, 'validation_error');
  });

  test.each(['null', '[]', '"x"', '5', 'true'])('the document %s, which is no object', async (body) => {
    expectFailure(await send(body), 400, 'validation_error');
    expectFailure(await send(body, {}, executePath), 400, 'validation_error');
  });

  test('no body at all', async () => {
    expectFailure(await send(undefined), 400, 'validation_error');
    expectFailure(await send([], { 'transfer-encoding': 'chunked' }), 400, 'validation_error');
  });

  test('in dialect B with its code', async () => {
    expectFailure(await send('{', { 'x-api-variant': 'B' }), 400, 'VALIDATION_ERROR');
  });
});

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

describe('of a type that is not JSON', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=iso-8859-1',
    'application/jsonp',
    'text/json',
    'application/json, text/plain',
    '',
  ])('"%s" is refused', async (type) => {
    expectFailure(await send('{"name":"x"}', { 'content-type': type }), 415, 'unsupported_media_type');
    expectFailure(await send('{"input":"x"}', { 'content-type': type }, executePath), 415, 'unsupported_media_type');
  });

  test('nor is a body taken that does not say its type', async () => {
    const headers = { authorization: `Bearer ${product.tenant.testKey}` };
    for (const at of [path, executePath]) {
      const answer = await rawRequest(product.process.api, { method: 'POST', path: at, headers, body: '{"name":"x"}' });
      expectFailure(answer, 415, 'unsupported_media_type');
    }
  });

  test.each(['gzip', 'identity', 'br', 'x'])('nor one in Content-Encoding: %s', async (encoding) => {
    const answer = await send(gzipSync('{"name":"x"}'), { 'content-encoding': encoding });
    expectFailure(answer, 415, 'unsupported_media_type');
  });
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
      headers: { 'content-type': 'application/json' },
      body: ofSize(mebibyte + 1),
    });
    expectFailure(answer, 401, 'unauthorized');
  });
});

test('a body that its sender cuts off is no failure of ours', async () => {
  const { hostname, port } = new URL(product.process.api);
  const socket = connect(Number(port), hostname);
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${product.tenant.testKey}`;
  socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"name":`);
  // Answered after the other has been taken up, and so is this one by then.
  expect(await send('{"name":"x"}')).toMatchObject({ status: 201 });
  socket.destroy();
  await once(socket, 'close');
  expect(await send('{"name":"x"}')).toMatchObject({ status: 201 });
  // Background work of the process logs its own problems, without a request id.
  expect(product.process.log.filter(({ level, requestId }) => requestId && Number(level) >= 40)).toEqual([]);
});

test('what is refused leaves the connection and the process in order', async () => {
  expect(await product.api.get('/v1/health')).toMatchObject({ status: 200 });
  expect(unexpectedFailures(product.process.log)).toEqual([]);
});

test('a body with two hundred mistakes is answered with the first hundred', async () => {
  const steps = Array.from({ length: 100 }, () => ({ id: 1, type: 2 }));
  const answer = await send(JSON.stringify({ name: 'x', steps }));
  expectFailure(answer, 400, 'validation_error');
  expect(answer.body.error.details.errors).toHaveLength(100);
});
