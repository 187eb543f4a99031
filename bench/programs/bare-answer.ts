import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer } from '../product-client.ts';

/** `node:http` that reads nothing and answers every request with the bytes it was told, on the port of its argument or a free one. */
let told: Answer = { status: 404, headers: {}, text: '' };

const server = createServer({ keepAliveTimeout: 75_000 }, (_, response) => {
  response.writeHead(told.status, told.headers);
  response.end(told.text);
});

process.on('message', (answer: Answer) => {
  told = answer;
  process.send?.({});
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
