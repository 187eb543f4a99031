import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { ensureDatabase } from './postgres-cluster.ts';

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const ready = Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]);

test('a PostgreSQL that ends while it is asked is a failure, and no end of the process', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(ready);
      socket.once('data', () => socket.destroy());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await expect(ensureDatabase((name) => `postgres://atelier:secret@127.0.0.1:${port}/${name}`)).rejects.toThrow(
    'Connection terminated unexpectedly',
  );
  server.close();
});
