import { isIP } from 'node:net';
import type { AddressRanges } from '../src/platform/address-ranges.ts';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Strips a port and a zone, and turns an IPv4-mapped IPv6 address into the IPv4 address. */
function canonical(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[(.+)\](?::\d+)?$/, '$1')
    .replace(/%.*$/, '');
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
  for (const hop of (forwarded ?? '').split(',').reverse()) {
    const next = canonical(hop);
    if (next === undefined) break;
    address = next;
    if (!trusted.has(address)) break;
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
