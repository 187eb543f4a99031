interface Queue {
  underWay: number;
  waiting: (() => void)[];
}

/** Limits the concurrent work of each key. Further work of a key waits in order; keys do not wait for each other. */
export class KeyedSemaphore {
  readonly #maxConcurrent: number;
  readonly #maxWaiting: number;
  readonly #queues = new Map<string, Queue>();

  constructor(maxConcurrent: number, maxWaiting: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether the key's queue has a free slot. */
  canEnqueue(key: string): boolean {
    return (this.#queues.get(key)?.waiting.length ?? 0) < this.#maxWaiting;
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { underWay: 0, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.underWay >= this.#maxConcurrent) await new Promise<void>((resolve) => queue.waiting.push(resolve));
    else queue.underWay++;
    try {
      return await work();
    } finally {
      // The next one takes over the slot.
      const next = queue.waiting.shift();
      if (next) next();
      else if (--queue.underWay === 0) this.#queues.delete(key);
    }
  }
}
