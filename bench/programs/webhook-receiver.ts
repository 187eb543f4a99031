import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A customer's server: takes the whole request and thanks at once, but for `/hang`, which never answers. */
const hanging: ServerResponse[] = [];

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  request.resume();
  request.on('end', () => {
    if (request.url === '/hang') hanging.push(response);
    else response.writeHead(200, { 'content-length': 2 }).end('ok');
  });
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
for (const end of ['SIGTERM', 'disconnect']) process.on(end, () => process.exit(0));
