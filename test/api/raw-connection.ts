import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

/** A TCP connection to the API whose reader decides what it sends, and when it reads. */
export interface RawConnection {
  socket: Socket;
  /** Everything that was read so far. */
  readonly received: Buffer;
  /** Everything from now on is read as it comes. */
  readOn(): void;
  /** Reads at most so many bytes of what has arrived. */
  readSome(bytes: number): void;
  /** Resolves when the connection is over, for whatever reason. */
  closed: Promise<void>;
}

/** Connects and reads nothing until it is asked to. Bytes that the operating systems of both sides keep do not count. */
export async function connectRaw(api: string): Promise<RawConnection> {
  const { port, hostname } = new URL(api);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  // A connection that is reset is one that is over.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await once(socket, 'connect');
  return {
    socket,
    get received() {
      return Buffer.concat(chunks);
    },
    readOn() {
      socket.on('data', (chunk) => chunks.push(chunk));
    },
    readSome(bytes) {
      for (let left = bytes; left > 0; ) {
        const chunk = socket.read() as Buffer | null;
        if (!chunk) return;
        left -= chunk.length;
        chunks.push(chunk);
      }
    },
    closed,
  };
}

/** The head of a request, with the blank line. */
export const rawHead = (method: string, path: string, headers: Record<string, string> = {}): string =>
  `${[`${method} ${path} HTTP/1.1`, 'Host: x', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\r\n')}\r\n\r\n`;

/** The status of each answer in what was received. */
export const statusesIn = (received: Buffer): number[] =>
  [...received.toString('latin1').matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

/** Memory of a process that it really uses, in bytes. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) * 1024;
}
