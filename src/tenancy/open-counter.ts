/** Counts what is open at the same time. */
export interface OpenCounter {
  /** Takes a place, if there are fewer than `limit`. @returns what gives it free, once; undefined when all are taken */
  enter(subject: string, limit: number): Promise<(() => void) | undefined>;
}

/** Counts what is open in this process. */
export class MemoryOpenCounter implements OpenCounter {
  readonly #counts = new Map<string, number>();

  async enter(subject: string, limit: number): Promise<(() => void) | undefined> {
    const count = this.#counts.get(subject) ?? 0;
    if (count >= limit) return undefined;
    this.#counts.set(subject, count + 1);
    return () => {
      const left = this.#counts.get(subject)! - 1;
      if (left === 0) this.#counts.delete(subject);
      else this.#counts.set(subject, left);
    };
  }
}
