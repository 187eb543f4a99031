import type { TenantKey } from '../security/tenant-key.ts';

/** First in, first out for each tenant. The tenant that has used least is next. */
export class FairQueue<Item> {
  /** No list is empty. A tenant whose item was taken comes after the other tenants that have used as much. */
  readonly #waiting = new Map<TenantKey, Item[]>();
  readonly #used: (key: TenantKey) => number;

  /** @param used how much a tenant has had lately */
  constructor(used: (key: TenantKey) => number = () => 0) {
    this.#used = used;
  }

  push(key: TenantKey, item: Item): void {
    const items = this.#waiting.get(key);
    if (items) items.push(item);
    else this.#waiting.set(key, [item]);
  }

  /** Takes the next available item, of the tenant that has used least among those that have one. */
  take(isAllowed: (key: TenantKey, item: Item) => boolean): Item | undefined {
    let next: { key: TenantKey; items: Item[]; index: number; used: number } | undefined;
    for (const [key, items] of this.#waiting) {
      const index = items.findIndex((item) => isAllowed(key, item));
      if (index < 0) continue;
      const used = this.#used(key);
      if (!next || used < next.used) next = { key, items, index, used };
    }
    if (!next) return undefined;
    const { key, items, index } = next;
    const [item] = items.splice(index, 1);
    this.#waiting.delete(key);
    if (items.length > 0) this.#waiting.set(key, items);
    return item;
  }

  /** Whether `take` would give something. */
  has(isAllowed: (key: TenantKey, item: Item) => boolean): boolean {
    return [...this.#waiting].some(([key, items]) => items.some((item) => isAllowed(key, item)));
  }

  remove(key: TenantKey, item: Item): void {
    const items = this.#waiting.get(key) ?? [];
    const index = items.indexOf(item);
    if (index >= 0) items.splice(index, 1);
    if (items.length === 0) this.#waiting.delete(key);
  }

  /** Items that wait under `key`. */
  of(key: TenantKey): readonly Item[] {
    return this.#waiting.get(key) ?? [];
  }

  /** Takes everything. */
  clear(): Item[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
}
