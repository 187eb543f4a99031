import { isIP } from 'node:net';
import type { AddressRanges } from '../src/platform/address-ranges.ts';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** An IPv4 address in IPv6's clothes is that IPv4 address; a port and a zone are no part of one. */
function canonical(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^\[(.+)\](?::\d+)?$/, '$1')
    .replace(/%.*$/, '');
  const address = mapped.exec(bare)?.[1] ?? (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(bare) ? bare.replace(/:\d+$/, '') : bare);
  return isIP(address) === 0 ? undefined : address;
}

/**
 * The address a request is from. Headers count only where the peer is a trusted proxy, and are read from the right: the
 * first address that no trusted proxy has is the client's, whatever it wrote to the left of it.
 * @param header reads a request header by its name
 * @param trusted who may speak for others
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

/** What is limited for an address: an IPv6 customer has a whole /64 to himself. */
export function limitedRange(address: string): string {
  if (isIP(address) !== 6) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = [...left, ...Array(8 - left.length - right.length).fill('0'), ...right];
  return `${groups.slice(0, 4).join(':')}::/64`;
}
