import type { TenantKey } from '../security/tenant-key.ts';

/** Time is counted in pieces of this length, and forgotten piece by piece. */
const pieceMs = 5_000;
const windowMs = 60_000;

/** The time that each tenant has used of a pool within the last minute. Tasks under way count as well. */
export class UsedTime {
  readonly #now: () => number;
  /** By the number of the piece, oldest first. */
  readonly #pieces = new Map<number, Map<TenantKey, number>>();
  /** When the tasks began that are under way. */
  readonly #begun = new Map<TenantKey, Set<{ at: number }>>();

  /** @param now ms; gives the same or more each time */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @returns what ends the task */
  begin(key: TenantKey): () => void {
    const task = { at: this.#now() };
    const begun = this.#begun.get(key) ?? new Set();
    this.#begun.set(key, begun.add(task));
    return () => {
      begun.delete(task);
      if (begun.size === 0) this.#begun.delete(key);
      const now = this.#now();
      const piece = this.#pieceAt(now);
      piece.set(key, (piece.get(key) ?? 0) + now - task.at);
    };
  }

  /** Milliseconds of the last minute. */
  of(key: TenantKey): number {
    const now = this.#now();
    this.#forget(now);
    let used = 0;
    for (const piece of this.#pieces.values()) used += piece.get(key) ?? 0;
    for (const { at } of this.#begun.get(key) ?? []) used += Math.min(now - at, windowMs);
    return used;
  }

  #pieceAt(now: number): Map<TenantKey, number> {
    const number = Math.floor(now / pieceMs);
    const piece = this.#pieces.get(number) ?? new Map();
    this.#pieces.set(number, piece);
    this.#forget(now);
    return piece;
  }

  #forget(now: number): void {
    const first = Math.floor((now - windowMs) / pieceMs);
    for (const number of this.#pieces.keys()) if (number < first) this.#pieces.delete(number);
  }
}
