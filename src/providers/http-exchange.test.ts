import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setImmediate as nextLoopRound } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { HttpExchange } from './http-exchange.ts';

test.each(['application/json', 'text/event-stream'])(
  'a server that closes at once, while its answer of %s waits to be read, ends nothing but its connection',
  async (type) => {
    const body = Buffer.alloc(2_000_000, 'x');
    const closing = createServer((socket) => {
      socket.on('error', () => {});
      const head = `HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
      socket.once('data', () => socket.end(Buffer.concat([Buffer.from(head), body])));
    }).listen(0, '127.0.0.1');
    await once(closing, 'listening');
    const url = `http://127.0.0.1:${(closing.address() as AddressInfo).port}/`;
    for (let call = 0; call < 20; call++) {
      const exchange = new HttpExchange(undefined, 'events');
      const response = await exchange.fetch(url);
      let read = 0;
      for await (const chunk of response.body!) {
        read += chunk.length;
        // Longer than the end of the connection takes to arrive.
        for (let rounds = 0; rounds < 20; rounds++) await nextLoopRound();
      }
      expect(read).toBe(body.length);
      exchange.close();
    }
    closing.close();
  },
);

test('an answer with more encodings than fetch accepts fails alone, although its connection breaks', async () => {
  const over = Promise.withResolvers<void>();
  const breaking = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('close', () => over.resolve());
    const head = `HTTP/1.1 200 OK\r\nContent-Length: 9\r\n${'Content-Encoding: gzip, br\r\n'.repeat(3)}\r\n`;
    socket.once('data', () => socket.write(head, () => setImmediate(() => socket.resetAndDestroy())));
  }).listen(0, '127.0.0.1');
  await once(breaking, 'listening');
  const exchange = new HttpExchange();
  const refused = exchange.fetch(`http://127.0.0.1:${(breaking.address() as AddressInfo).port}/`);
  await expect(refused).rejects.toMatchObject({ cause: { message: 'The answer has too many content encodings.' } });
  await over.promise;
  // By then an error without a listener would have been thrown.
  for (let rounds = 0; rounds < 20; rounds++) await nextLoopRound();
  breaking.close();
});
