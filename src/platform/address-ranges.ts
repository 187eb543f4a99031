import { BlockList, isIP } from 'node:net';

/** A set of IP addresses. IPv4 ranges also contain the IPv4-mapped IPv6 addresses. */
export class AddressRanges {
  readonly #list = new BlockList();

  /** @param ranges valid addresses and CIDR ranges */
  constructor(ranges: readonly string[]) {
    for (const range of ranges) {
      const [address, bits] = range.split('/') as [string, string?];
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (bits === undefined) this.#list.addAddress(address, family);
      else this.#list.addSubnet(address, Number(bits), family);
    }
  }

  has(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}
