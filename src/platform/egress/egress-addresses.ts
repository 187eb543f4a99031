import { isIP } from 'node:net';
import { AddressRanges } from './address-ranges.ts';

/**
 * IPv4 addresses that are not public hosts: IANA's special-purpose registry
 * (iana.org/assignments/iana-ipv4-special-registry), multicast, reserved addresses, and one address of a cloud.
 */
export const specialIpv4 = [
  '0.0.0.0/8', // this network; on most systems this host
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers; metadata of Alibaba's cloud
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local; metadata of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments; metadata of Oracle's cloud
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112, anycast
  '192.52.193.0/24', // AMT relays, anycast
  '192.88.99.0/24', // 6to4 relays, withdrawn
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112, anycast
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved; broadcast
  '168.63.129.16/32', // formally public; inside Azure the host of the virtual machine
] as const;

/**
 * IPv6 ranges allocated to public hosts (iana.org/assignments/ipv6-unicast-address-assignments), rounded up to include the
 * next allocations. Everything else is refused: loopback, mapped and compatible IPv4, NAT64, 6to4, link-local, unique
 * local, site-local, multicast, discard and segment routing.
 */
const publicIpv6 = ['2001::/16', '2003::/16', '2400::/6', '2800::/6', '2c00::/8'] as const;

/** Special-purpose ranges within the public ones (iana.org/assignments/iana-ipv6-special-registry). */
const specialIpv6 = [
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID and more
  '2001:db8::/32', // documentation
  '2620:4f:8000::/48', // AS112, anycast
] as const;

const special = new AddressRanges([...specialIpv4, ...specialIpv6]);
const allocated = new AddressRanges(publicIpv6);

/** Whether an address, in any notation that Node parses, is a public host. An address with a zone is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes('%') || special.has(address)) return false;
  return family === 4 || allocated.has(address);
}
