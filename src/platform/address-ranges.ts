import { BlockList, isIP } from 'node:net';

/** A set of addresses, written as addresses and CIDR ranges. Of IPv4 ranges it also has the IPv4-mapped form. */
export class AddressRanges {
  readonly #list = new BlockList();

  /** @param ranges addresses and CIDR ranges, already checked */
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
