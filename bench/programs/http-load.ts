import { createRequire } from 'node:module';
import type { HttpLoad, LoadReport } from '../http-load.ts';

/** Sends one load, described in the only argument, and reports the results. */
type Headers = Record<string, string>;
interface Request {
  headers: Headers;
}
interface Options {
  url: string;
  headers: Headers;
  connections: number;
  duration: number;
  requests?: { setupRequest(request: Request): Request }[];
}
/** The package brings no types. */
const autocannon = createRequire(import.meta.url)('autocannon') as (options: Options) => Promise<LoadReport>;

/** Enough that none of them has to wait. */
const addresses = 65_536;
let sent = 0;
/** The next address of a network that is reserved for benchmarks. */
const nextAddress = () => {
  const address = sent++ % addresses;
  return `198.18.${address >> 8}.${address & 255}`;
};
const fromElsewhere = (request: Request): Request => ({
  ...request,
  headers: { ...request.headers, 'x-forwarded-for': nextAddress() },
});

const { url, headers = {}, connections, seconds, fromManyAddresses } = JSON.parse(process.argv[2] ?? '') as HttpLoad;
const report = await autocannon({
  url,
  headers,
  connections,
  duration: seconds,
  ...(fromManyAddresses && { requests: [{ setupRequest: fromElsewhere }] }),
});
process.stdout.write(JSON.stringify(report));
