import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';

/** A server of a test's own, on a port of its own, that counts who comes. */
export interface LoopbackServer {
  port: number;
  /** Connections so far. */
  connections: number;
  /** How many of those are open. */
  open: number;
  close(): Promise<void>;
}

async function listening(server: TcpServer): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  const counted: LoopbackServer = {
    port: 0,
    connections: 0,
    open: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((closed) => server.close(closed));
    },
  };
  server.on('connection', (socket) => {
    sockets.add(socket);
    counted.connections++;
    counted.open++;
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      counted.open--;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  counted.port = (server.address() as AddressInfo).port;
  return counted;
}

export const httpServer = (answer: RequestListener): Promise<LoopbackServer> =>
  listening(createServer({ keepAliveTimeout: 60_000 }, answer));

export const tcpServer = (answer: (socket: Socket) => void): Promise<LoopbackServer> =>
  listening(createTcpServer(answer));

/** Any server that Node makes. */
export const serve = listening;
