import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answered with `{}`. */
export interface ReceiverOrder {
  /** From now on nothing fails. */
  mended: boolean;
  /** The value in seconds of `Retry-After` in failed answers. */
  retryAfter?: number;
}

/**
 * A customer's server: takes the whole request and thanks at once. Below `/flap` every second request fails, below `/fail`
 * every one, until it is mended; `/hang` never answers.
 */
const hanging: ServerResponse[] = [];
const counts = new Map<string, number>();
let order: ReceiverOrder = { mended: false };

function fails(path: string): boolean {
  if (order.mended) return false;
  const count = (counts.get(path) ?? 0) + 1;
  counts.set(path, count);
  return path.startsWith('/fail') || (path.startsWith('/flap') && count % 2 === 1);
}

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    const { url = '/' } = request;
    if (url === '/hang') hanging.push(response);
    else if (!fails(url)) response.writeHead(200, { 'content-length': 2 }).end('ok');
    else {
      const later = order.retryAfter === undefined ? {} : { 'retry-after': String(order.retryAfter) };
      response.writeHead(503, { 'content-length': 4, ...later }).end('busy');
    }
  });
});
process.on('message', (given: ReceiverOrder) => {
  order = given;
  process.send?.({});
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
