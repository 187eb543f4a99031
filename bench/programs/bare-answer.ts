import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from '../product-client.ts';

/** An answer that comes after some time. */
export type TimedAnswer = Answer & { afterMs?: number };

/**
 * `node:http` that reads nothing and answers every request with configured bytes, on the port of its argument or a free
 * one.
 */
let configured: TimedAnswer = { status: 404, headers: {}, text: '' };

const server = createServer({ keepAliveTimeout: 75_000 }, (_, response) => {
  const { status, headers, text, afterMs = 0 } = configured;
  const answer = () => response.writeHead(status, headers).end(text);
  if (afterMs > 0) setTimeout(answer, afterMs);
  else answer();
});

process.on('message', (answer: TimedAnswer) => {
  configured = answer;
  process.send?.({});
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
