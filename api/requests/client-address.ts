import { isIP } from 'node:net';
import { AddressRanges } from '../../src/platform/egress/address-ranges.ts';
import type { PlatformEnv } from '../../src/platform/env.ts';

/** Loopback and private ranges. */
const inDevelopment = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'];

/**
 * The proxies whose forwarding headers are used: those that the operator names. In production no other is trusted,
 * because a client on a private network could name any address as its own.
 */
export const trustedProxies = ({
  NODE_ENV,
  TRUSTED_PROXIES,
}: Pick<PlatformEnv, 'NODE_ENV' | 'TRUSTED_PROXIES'>): AddressRanges =>
  new AddressRanges(TRUSTED_PROXIES ?? (NODE_ENV === 'production' ? [] : inDevelopment));

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Strips a port and a zone, and turns an IPv4-mapped IPv6 address into the IPv4 address. */
function canonical(text: string): string | undefined {
  const unbracketed = text.trim().replace(/^\[(.+)\](?::\d+)?$/, '$1');
  const [bare] = unbracketed.split('%', 1) as [string];
  const address = mapped.exec(bare)?.[1] ?? (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(bare) ? bare.replace(/:\d+$/, '') : bare);
  return isIP(address) === 0 ? undefined : address;
}

/**
 * The client's address. Forwarding headers are used only when the peer is a trusted proxy, and are read from the right:
 * the first address that is not a trusted proxy is the client's, because the client may forge everything left of it.
 * @param header reads a request header by its name
 * @param trusted the proxies whose forwarding headers are used
 */
export function clientAddress(
  peer: string | undefined,
  header: (name: string) => string | undefined,
  trusted: AddressRanges,
): string {
  let address = canonical(peer ?? '') ?? 'unknown';
  if (!trusted.has(address)) return address;
  const forwarded = header('x-forwarded-for') ?? header('x-real-ip') ?? header('cf-connecting-ip');
  const hops = (forwarded ?? '').split(',');
  for (let at = hops.length - 1; at >= 0; at--) {
    const next = canonical(hops[at]!);
    if (next === undefined) break;
    address = next;
    // The first hop is the last candidate, trusted or not.
    if (at === 0 || !trusted.has(address)) break;
  }
  return address;
}

/** The range that rate limits apply to: a single IPv6 client usually owns a whole /64. */
export function limitedRange(address: string): string {
  if (isIP(address) !== 6) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
