interface Line {
  underWay: number;
  waiting: (() => void)[];
  /** When work of the key came or ended last. */
  activeAt: number;
}

export interface FairTurnsPolicy {
  /** Work of one key at the same time, while no other key has any. */
  alone: number;
  /** Shared equally by the keys that have work; each may do one at least. */
  together: number;
  /** Work of one key that waits. */
  maxWaiting: number;
  /** So long a key keeps its share when its work is done: who comes again finds the place free. */
  rememberMs: number;
}

/**
 * Lets keys share what their work uses: `alone` of a key is done at the same time until another key comes, and from then on
 * each has an equal share of `together`. What is over that waits in order, and no other key waits for it.
 */
export class FairTurns {
  readonly #policy: FairTurnsPolicy;
  readonly #now: () => number;
  readonly #lines = new Map<string, Line>();

  /** @param now ms; gives the same or more each time */
  constructor(policy: FairTurnsPolicy, now: () => number = () => performance.now()) {
    this.#policy = policy;
    this.#now = now;
  }

  /** Whether further work of the key may come. */
  hasRoom(key: string): boolean {
    return (this.#lines.get(key)?.waiting.length ?? 0) < this.#policy.maxWaiting;
  }

  /** Of each key that has work, how much more of it would begin at once. */
  free(): Map<string, number> {
    const share = this.#share();
    const left = ({ underWay, waiting }: Line) => Math.max(0, share - underWay - waiting.length);
    return new Map([...this.#lines].map(([key, line]) => [key, left(line)]));
  }

  /** How much work of a key that has none would begin at once. */
  freeOfOthers(): number {
    return this.#share(1);
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? { underWay: 0, waiting: [], activeAt: 0 };
    line.activeAt = this.#now();
    this.#lines.set(key, line);
    if (line.underWay < this.#share()) line.underWay++;
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
    try {
      return await work();
    } finally {
      line.underWay--;
      line.activeAt = this.#now();
      // One takes the place over; more, when others have gone meanwhile.
      for (const share = this.#share(); line.underWay < share && line.waiting.length > 0; line.underWay++)
        line.waiting.shift()!();
    }
  }

  #share(more = 0): number {
    const since = this.#now() - this.#policy.rememberMs;
    for (const [key, { underWay, waiting, activeAt }] of this.#lines) {
      if (underWay === 0 && waiting.length === 0 && activeAt < since) this.#lines.delete(key);
    }
    const { alone, together } = this.#policy;
    const keys = this.#lines.size + more;
    return keys <= 1 ? alone : Math.max(1, Math.floor(together / keys));
  }
}
