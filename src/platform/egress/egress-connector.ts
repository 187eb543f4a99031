import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type EgressRules, knownAddresses, mayReach } from './egress-destination.ts';
import { connectFailure, EgressFailure, tlsFailure } from './egress-failure.ts';

/** Resolves a name to at least one address. Rejects when it has none or `signal` aborts. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

/**
 * Queries the DNS directly. The system's resolver would block one of libuv's four threads for every unresponsive name, and
 * expand short names with internal search domains.
 * @param servers replace the system's DNS servers
 */
export const dnsResolve =
  (servers?: string[]): Resolve =>
  async (name, signal) => {
    const resolver = new Resolver({ timeout: 2_500, tries: 2 });
    if (servers) resolver.setServers(servers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    // IPv4 first: without IPv6 connectivity each attempt to use it costs a second.
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
    return addresses;
  };

interface ConnectorOptions {
  rules: EgressRules;
  resolve: Resolve;
  /** For resolving and connecting together, and again for TLS. */
  timeoutMs: number;
}

/** Maximum addresses of a name that are tried. An answer of the DNS can have thousands, and each attempt takes a socket. */
const maxAttempts = 8;

/**
 * A name with any forbidden address is refused: a mix of public and internal addresses suggests an attack.
 * @returns the first ones
 */
async function permittedAddresses(hostname: string, { rules, resolve }: ConnectorOptions, signal: AbortSignal) {
  const known = knownAddresses(hostname)?.filter((address) => mayReach(rules, address));
  const addresses =
    known ??
    (await resolve(hostname, signal).catch((cause) => {
      throw new EgressFailure('dns', undefined, { cause });
    }));
  if (addresses.length === 0 || !addresses.every((address) => mayReach(rules, address))) {
    throw new EgressFailure('forbidden_destination');
  }
  return addresses.slice(0, maxAttempts).map((address): LookupAddress => ({ address, family: isIP(address) }));
}

/** Opens a TCP connection to one of the checked addresses. The name is not resolved again. */
export async function dial(hostname: string, port: number, options: ConnectorOptions): Promise<Socket> {
  const signal = AbortSignal.timeout(options.timeoutMs);
  const addresses = await permittedAddresses(hostname, options, signal);
  const lookup: LookupFunction = (_name, { all }, found) =>
    all ? found(null, addresses) : found(null, addresses[0]!.address, addresses[0]!.family);
  const socket = connect({
    host: hostname,
    port,
    lookup,
    noDelay: true,
    autoSelectFamily: true,
    // Node's default of 250 ms is too short for distant hosts.
    autoSelectFamilyAttemptTimeout: 1_000,
  });
  // Nobody waits for it if the time was over when the addresses came, and an error that nobody hears ends the process.
  socket.on('error', () => {});
  try {
    await once(socket, 'connect', { signal });
  } catch (cause) {
    socket.destroy();
    throw connectFailure(cause);
  }
  if (!mayReach(options.rules, socket.remoteAddress ?? '')) {
    socket.destroy();
    throw new EgressFailure('forbidden_destination');
  }
  return socket;
}

/** A connector for undici that reaches permitted addresses only. TLS verifies the name in the URL. */
export function guardedConnector(build: typeof buildConnector, options: ConnectorOptions): buildConnector.connector {
  const secure = build({ timeout: options.timeoutMs, allowH2: false });
  return (target, callback) => {
    const isSecure = target.protocol === 'https:';
    dial(target.hostname, Number(target.port || (isSecure ? 443 : 80)), options).then(
      (socket) => {
        if (!isSecure) return callback(null, socket);
        // Certificates contain names without the trailing dot of the DNS.
        const servername = isIP(target.hostname) === 0 && target.hostname.replace(/\.$/, '');
        secure({ ...target, ...(servername && { servername }), httpSocket: socket }, (error, secured) =>
          error ? callback(tlsFailure(error), null) : callback(null, secured!),
        );
      },
      (error) => callback(error, null),
    );
  };
}
