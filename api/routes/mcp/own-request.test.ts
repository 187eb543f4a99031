import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { getRequestListener } from '@hono/node-server';
import { expect, test } from '@jest/globals';
import { Hono } from 'hono';
import { until } from '../../../test/until.ts';
import { ownRequest } from './own-request.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

test('a listener that keeps its request does not keep it for ever', async () => {
  const requests: WeakRef<object>[] = [];
  const app = new Hono();
  app.post('/', async (c) => {
    // As the bodies of messages are read.
    await c.req.raw.body?.getReader().read();
    const request = ownRequest(c.req.raw);
    request.signal.addEventListener('abort', () => requests.push(new WeakRef(request)), { once: true });
    requests.push(new WeakRef(request), new WeakRef(c.req.raw));
    return c.text('done');
  });
  const server = createServer(getRequestListener(app.fetch, { overrideGlobalObjects: false })).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (let at = 0; at < 20; at++) expect(await (await fetch(url, { method: 'POST', body: '{}' })).text()).toBe('done');
  server.closeAllConnections();
  server.close();
  // The last ones may still be in use.
  await until(
    'the requests are collected',
    async () => {
      collectGarbage();
      return requests.filter((one) => one.deref()).length < 10;
    },
    10_000,
  );
});
