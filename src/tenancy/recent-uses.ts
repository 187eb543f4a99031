/**
 * Which ids were used within an interval. No timers: ids whose interval has ended are removed when another one begins.
 */
export class RecentUses {
  readonly #intervalMs: number;
  readonly #now: () => number;
  /** When the interval of an id began; the oldest first. */
  readonly #began = new Map<string, number>();

  constructor(intervalMs: number, now: () => number = () => performance.now()) {
    this.#intervalMs = intervalMs;
    this.#now = now;
  }

  /** How many ids are remembered. */
  get size(): number {
    return this.#began.size;
  }

  /** Whether an interval of the id begins with this use. */
  begin(id: string): boolean {
    const now = this.#now();
    const began = this.#began.get(id);
    if (began !== undefined && now - began < this.#intervalMs) return false;
    for (const [other, at] of this.#began) {
      if (now - at < this.#intervalMs) break;
      this.#began.delete(other);
    }
    this.#began.set(id, now);
    return true;
  }
}
