interface Queue {
  underWay: number;
  waiting: (() => void)[];
  /** When work of the key came or ended last. */
  activeAt: number;
}

export interface FairSemaphorePolicy {
  /** Maximum concurrent work of one key while no other key has work. */
  alone: number;
  /** Slots that the keys with work share equally; each has at least one. */
  together: number;
  /** Maximum length of a key's queue. */
  maxWaiting: number;
  /** How long a key keeps its share after its last work: a key that returns soon finds its slot free. */
  rememberMs: number;
}

/**
 * Shares slots among keys: a key has `alone` slots until another key has work, and from then on each key has an equal share
 * of `together`. Work beyond the share waits in order, and other keys do not wait for it.
 * @typeParam Key of tenants: one that only a scope makes
 */
export class FairSemaphore<Key extends string = string> {
  readonly #policy: FairSemaphorePolicy;
  readonly #now: () => number;
  readonly #queues = new Map<Key, Queue>();

  /** @param now ms; gives the same or more each time */
  constructor(policy: FairSemaphorePolicy, now: () => number = () => performance.now()) {
    this.#policy = policy;
    this.#now = now;
  }

  /** Whether the key's queue has a free slot. */
  canEnqueue(key: Key): boolean {
    return (this.#queues.get(key)?.waiting.length ?? 0) < this.#policy.maxWaiting;
  }

  /** The free slots of each key that has work. */
  free(): Map<Key, number> {
    const share = this.#share();
    const left = ({ underWay, waiting }: Queue) => Math.max(0, share - underWay - waiting.length);
    return new Map([...this.#queues].map(([key, queue]) => [key, left(queue)]));
  }

  /** The free slots of a key that has no work yet. */
  freeOfOthers(): number {
    return this.#share(1);
  }

  async run<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { underWay: 0, waiting: [], activeAt: 0 };
    queue.activeAt = this.#now();
    this.#queues.set(key, queue);
    if (queue.underWay < this.#share()) queue.underWay++;
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await work();
    } finally {
      queue.underWay--;
      queue.activeAt = this.#now();
      // One takes over the slot; more than one when other keys have left meanwhile.
      for (const share = this.#share(); queue.underWay < share && queue.waiting.length > 0; queue.underWay++)
        queue.waiting.shift()!();
    }
  }

  #share(more = 0): number {
    const since = this.#now() - this.#policy.rememberMs;
    for (const [key, { underWay, waiting, activeAt }] of this.#queues) {
      if (underWay === 0 && waiting.length === 0 && activeAt < since) this.#queues.delete(key);
    }
    const { alone, together } = this.#policy;
    const keys = this.#queues.size + more;
    return keys <= 1 ? alone : Math.max(1, Math.floor(together / keys));
  }
}
