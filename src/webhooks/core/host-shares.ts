import type { HostShares, Plan } from './plan-dispatch.ts';

/** How many attempts a plan makes to each host that has a limit, by organization. */
export function wishesOf({ grants }: Plan): HostShares {
  const wishes: HostShares = new Map();
  for (const { subscription, exempt, first, retries } of grants) {
    const { host, organizationId } = subscription;
    if (host === undefined) continue;
    const ofHost = wishes.get(host) ?? new Map<string, number>();
    wishes.set(host, ofHost);
    ofHost.set(organizationId, (ofHost.get(organizationId) ?? 0) + exempt + first + retries);
  }
  return wishes;
}

export const totalOf = (shares: ReadonlyMap<string, number>): number =>
  [...shares.values()].reduce((sum, count) => sum + count, 0);

/** Divides `places` equally; what one does not wish goes to the others. Of equal wishes the first in the map come first. */
export function divide(places: number, wishes: ReadonlyMap<string, number>): Map<string, number> {
  const shares = new Map<string, number>();
  let left = places;
  for (const [index, [id, wish]] of [...wishes].sort(([, a], [, b]) => a - b).entries()) {
    const share = Math.min(wish, Math.ceil(left / (wishes.size - index)));
    shares.set(id, share);
    left -= share;
  }
  return shares;
}
