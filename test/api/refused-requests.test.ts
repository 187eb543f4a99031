import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Answer } from '../api-client.ts';
import { type AppWithoutProcess, openApp } from './app-without-process.ts';

let app: AppWithoutProcess;
let executePath: string;
beforeAll(async () => {
  app = await openApp();
  const { status, body } = await send('{"name":"x","steps":[]}');
  expect(status).toBe(201);
  executePath = `${path}/${body.data.id}/execute`;
});
afterAll(() => app.close());

const path = '/api/v1/workflows';

/** Headers of `undefined` are not sent. */
function send(body: string | Uint8Array | undefined, headers: Record<string, string | undefined> = {}, at = path) {
  const all = { authorization: `Bearer ${app.key}`, 'content-type': 'application/json', ...headers };
  const sent = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined);
  return app.request({
    method: 'POST',
    path: at,
    headers: Object.fromEntries(sent),
    body: body === undefined ? undefined : Buffer.from(body as string),
  });
}

function expectFailure(answer: Answer, status: number, code: string) {
  expect(answer).toMatchObject({ status, body: { success: false, error: { code } } });
  expect(answer.body.error.requestId).toBe(answer.headers.get('x-request-id'));
}

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
  });

  test('in dialect B with its code', async () => {
    expectFailure(await send('{', { 'x-api-variant': 'B' }), 400, 'VALIDATION_ERROR');
  });
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
    for (const at of [path, executePath]) {
      expectFailure(await send('{"name":"x"}', { 'content-type': undefined }, at), 415, 'unsupported_media_type');
    }
  });

  test.each(['gzip', 'identity', 'br', 'x'])('nor one in Content-Encoding: %s', async (encoding) => {
    const answer = await send(gzipSync('{"name":"x"}'), { 'content-encoding': encoding });
    expectFailure(answer, 415, 'unsupported_media_type');
  });
});

test('a body with two hundred mistakes is answered with the first hundred', async () => {
  const steps = Array.from({ length: 100 }, () => ({ id: 1, type: 2 }));
  const answer = await send(JSON.stringify({ name: 'x', steps }));
  expectFailure(answer, 400, 'validation_error');
  expect(answer.body.error.details.errors).toHaveLength(100);
});
