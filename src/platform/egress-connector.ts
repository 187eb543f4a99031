import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { type EgressRules, knownAddresses, mayReach } from './egress-destination.ts';
import { connectFailure, EgressFailure, tlsFailure } from './egress-failure.ts';

/** The addresses of a name, at least one. Rejects when it has none or `signal` says that it took too long. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<string[]>;

/**
 * Asks the DNS itself and not the system, whose resolver keeps one of four threads busy for every name that does not
 * answer, and makes names of the inside out of short ones.
 * @param servers instead of the system's
 */
export const dnsResolve =
  (servers?: string[]): Resolve =>
  async (name, signal) => {
    const resolver = new Resolver({ timeout: 2_500, tries: 2 });
    if (servers) resolver.setServers(servers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    // IPv4 first: where IPv6 goes nowhere, each attempt to use it costs a second.
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
    return addresses;
  };

export interface ConnectorOptions {
  rules: EgressRules;
  resolve: Resolve;
  /** For the name and the connection together, and again for TLS. */
  timeoutMs: number;
}

/** One forbidden address among several condemns the name: whoever answers so is trying something. */
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
  return addresses.map((address): LookupAddress => ({ address, family: isIP(address) }));
}

/** A TCP connection to one of the addresses that were checked: the name is not asked for again. */
async function dial(hostname: string, port: number, options: ConnectorOptions): Promise<Socket> {
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
    // Node's own 250 ms give up hosts on the other side of the world.
    autoSelectFamilyAttemptTimeout: 1_000,
  });
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

/** Connects undici to permitted addresses only; TLS still asks for the name in the URL. */
export function guardedConnector(build: typeof buildConnector, options: ConnectorOptions): buildConnector.connector {
  const secure = build({ timeout: options.timeoutMs, allowH2: false });
  return (target, callback) => {
    const isSecure = target.protocol === 'https:';
    dial(target.hostname, Number(target.port || (isSecure ? 443 : 80)), options).then(
      (socket) => {
        if (!isSecure) return callback(null, socket);
        // The dot that ends a name in the DNS is in no certificate.
        const servername = isIP(target.hostname) === 0 && target.hostname.replace(/\.$/, '');
        secure({ ...target, ...(servername && { servername }), httpSocket: socket }, (error, secured) =>
          error ? callback(tlsFailure(error), null) : callback(null, secured!),
        );
      },
      (error) => callback(error, null),
    );
  };
}
