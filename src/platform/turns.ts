interface Line {
  underWay: number;
  waiting: (() => void)[];
}

/** Lets so much work of each key be done at the same time. Further work of the key waits in order, and no other waits for it. */
export class Turns {
  readonly #maxConcurrent: number;
  readonly #maxWaiting: number;
  readonly #lines = new Map<string, Line>();

  constructor(maxConcurrent: number, maxWaiting: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether further work of the key may come. */
  hasRoom(key: string): boolean {
    return (this.#lines.get(key)?.waiting.length ?? 0) < this.#maxWaiting;
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? { underWay: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.underWay >= this.#maxConcurrent) await new Promise<void>((resolve) => line.waiting.push(resolve));
    else line.underWay++;
    try {
      return await work();
    } finally {
      // The next one takes the place over.
      const next = line.waiting.shift();
      if (next) next();
      else if (--line.underWay === 0) this.#lines.delete(key);
    }
  }
}
