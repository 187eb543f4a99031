import { BlockList, isIP } from 'node:net';

/** Most requests come from few addresses: checking one costs as much as routing the request. */
const maxRemembered = 1_000;

/** A set of IP addresses. IPv4 ranges also contain the IPv4-mapped IPv6 addresses. */
export class AddressRanges {
  readonly #list = new BlockList();
  readonly #known = new Map<string, boolean>();

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
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    const found = this.#find(address);
    if (this.#known.size >= maxRemembered) this.#known.clear();
    this.#known.set(address, found);
    return found;
  }

  #find(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }
}
