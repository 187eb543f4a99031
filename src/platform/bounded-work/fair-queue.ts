/** First in, first out for each key, and the keys in turn. */
export class FairQueue<Item> {
  /** In the order in which the keys' turns come; no list is empty. */
  readonly #waiting = new Map<string, Item[]>();

  push(key: string, item: Item): void {
    const items = this.#waiting.get(key);
    if (items) items.push(item);
    else this.#waiting.set(key, [item]);
  }

  /** Takes the next item of the first key that may have one; the key's next turn comes after all others'. */
  take(isAllowed: (key: string) => boolean): Item | undefined {
    for (const [key, items] of this.#waiting) {
      if (!isAllowed(key)) continue;
      const item = items.shift();
      this.#waiting.delete(key);
      if (items.length > 0) this.#waiting.set(key, items);
      return item;
    }
    return undefined;
  }

  /** Whether `take` would give something. */
  has(isAllowed: (key: string) => boolean): boolean {
    return [...this.#waiting.keys()].some(isAllowed);
  }

  remove(key: string, item: Item): void {
    const items = this.#waiting.get(key) ?? [];
    const index = items.indexOf(item);
    if (index >= 0) items.splice(index, 1);
    if (items.length === 0) this.#waiting.delete(key);
  }

  /** Items that wait under `key`. */
  of(key: string): readonly Item[] {
    return this.#waiting.get(key) ?? [];
  }

  /** Takes everything. */
  clear(): Item[] {
    const all = [...this.#waiting.values()].flat();
    this.#waiting.clear();
    return all;
  }
}
