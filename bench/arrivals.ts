import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A receiver in this process, whose clock measures arrivals. */
export async function openArrivals() {
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-length': 0 }).end();
    arrived.resolve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    next() {
      arrived = Promise.withResolvers();
      return arrived.promise;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
