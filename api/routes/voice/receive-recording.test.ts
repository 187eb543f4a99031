import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { withDeadline } from '../../../src/platform/concurrency/deadline.ts';
import { receiveRecording } from './receive-recording.ts';

/** A request whose handler does something else before it reads the form. */
type Arrived = [form: IncomingMessage, outgoing: ServerResponse];

const arrived: ((arrived: Arrived) => void)[] = [];
const server = createServer((...both) => arrived.shift()!(both));
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const whole = '--b\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\nx\r\n--b--\r\n';
const never = new AbortController().signal;

test.each([
  ['before all of its form has arrived', whole.slice(0, -20)],
  ['when all of its form has arrived', whole],
])('a sender that hangs up %s, and before it is read, is not waited for', async (_, sent) => {
  const { promise, resolve } = Promise.withResolvers<Arrived>();
  arrived.push(resolve);
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const head = ['POST / HTTP/1.1', 'Host: x', 'Content-Type: multipart/form-data; boundary=b'];
  socket.write([...head, `Content-Length: ${whole.length}`, '', sent].join('\r\n'));
  const [form, outgoing] = await promise;
  const closed = new Promise((over) => form.once('close', over));
  socket.destroy();
  await closed;
  expect(form.complete).toBe(sent === whole);

  const c = {
    env: { incoming: form, outgoing },
    req: { header: (name: string) => form.headers[name] },
    header() {},
  };
  const files = { receive: () => Promise.reject(new Error('Nothing is written.')), discard: async () => {} };
  const received = receiveRecording(c as never, files, never);
  await expect(withDeadline(received, 5_000)).rejects.toThrow('Invalid request body');
});
