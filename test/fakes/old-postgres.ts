import { type LoopbackServer, tcpServer } from '../loopback-server.ts';

const message = (type: string, ...parts: Buffer[]) => {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const int16 = (value: number) => int32(value).subarray(2);
const text = (value: string) => Buffer.from(`${value}\0`);

const ready = message('Z', Buffer.from('I'));

/** The answer to a query: one row with one column of type text. */
function answerTo(query: string, version: string): Buffer {
  if (query !== 'show server_version') {
    return message('E', text('SERROR'), text('VERROR'), text('C42883'), text('Mfunction does not exist'), text(''));
  }
  const column = [text('server_version'), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)];
  return Buffer.concat([
    message('T', int16(1), ...column),
    message('D', int16(1), int32(version.length), Buffer.from(version)),
    message('C', text('SHOW')),
  ]);
}

/**
 * A PostgreSQL server of another version, as far as a client asks for it: it takes every login and answers only
 * `show server_version`, in the wire protocol.
 */
export function startOldPostgres(version: string): Promise<LoopbackServer> {
  return tcpServer((socket) => {
    let received = Buffer.alloc(0);
    let isStarted = false;
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      for (;;) {
        // The first message of a connection has no type.
        const lengthAt = isStarted ? 1 : 0;
        if (received.length < lengthAt + 4) return;
        const end = lengthAt + received.readInt32BE(lengthAt);
        if (received.length < end) return;
        const [type, body] = [received.toString('latin1', 0, lengthAt), received.subarray(lengthAt + 4, end)];
        received = received.subarray(end);
        if (!isStarted) {
          isStarted = true;
          socket.write(Buffer.concat([message('R', int32(0)), ready]));
        } else if (type === 'Q') {
          socket.write(Buffer.concat([answerTo(body.toString('utf8', 0, body.length - 1), version), ready]));
        } else if (type === 'X') {
          socket.end();
        }
      }
    });
  });
}
