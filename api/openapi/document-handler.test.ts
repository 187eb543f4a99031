import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { Hono } from 'hono';
import type { ApiEnv } from '../context.ts';
import { documentHandler } from './document-handler.ts';

const document = { openapi: '3.1.0', text: 'ä'.repeat(2_000) };

function serve(served: unknown = document) {
  const app = new Hono<ApiEnv>().get(
    '/openapi.json',
    documentHandler(() => served),
  );
  return async (headers: Record<string, string> = {}) => app.request('/openapi.json', { headers });
}

describe('the document is answered', () => {
  test.each([undefined, '', 'identity', 'br', 'gzip;q=0', 'gzip; q=0.00', 'gzipped'])(
    'as it is to Accept-Encoding: %s',
    async (accepted) => {
      const answer = await serve()(accepted === undefined ? {} : { 'accept-encoding': accepted });
      expect(answer.headers.get('content-encoding')).toBeNull();
      expect(await answer.json()).toEqual(document);
    },
  );

  test.each(['gzip', 'br, GZIP', 'deflate, gzip;q=0.5, *;q=0', 'x-gzip'])(
    'compressed to Accept-Encoding: %s',
    async (accepted) => {
      const answer = await serve()({ 'accept-encoding': accepted });
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-encoding': 'gzip',
        'content-type': 'application/json',
        vary: 'Accept-Encoding',
      });
      const bytes = new Uint8Array(await answer.arrayBuffer());
      expect(bytes.length).toBeLessThan(1_000);
      expect(JSON.parse(gunzipSync(bytes).toString())).toEqual(document);
    },
  );

  test('with 304 to a client that has it, and with the whole to one that has another', async () => {
    const ask = serve();
    const etag = (await ask()).headers.get('etag')!;
    expect((await ask({ 'accept-encoding': 'gzip' })).headers.get('etag')).toBe(etag);
    for (const known of [etag, etag.replace('W/', ''), `"other", ${etag}`, '*']) {
      const answer = await ask({ 'if-none-match': known });
      expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([304, '', etag]);
    }
    for (const other of ['"other"', 'W/""', '', etag.slice(0, -2)]) {
      expect((await ask({ 'if-none-match': other })).status).toBe(200);
    }
    expect((await serve({ ...document, more: 1 })()).headers.get('etag')).not.toBe(etag);
  });
});

test('the document is serialized once, however many ask for it', async () => {
  let serialized = 0;
  const ask = serve({
    toJSON() {
      serialized += 1;
      return document;
    },
  });
  for (const encoding of ['gzip', 'identity', 'gzip'])
    expect((await ask({ 'accept-encoding': encoding })).ok).toBe(true);
  expect(serialized).toBe(1);
});
