import type { ActiveKeys } from './active-keys.ts';

interface Queue {
  underWay: number;
  waiting: (() => void)[];
}

interface FairSemaphorePolicy {
  /** Maximum concurrent work of one key while no other key is active. */
  alone: number;
  /** Slots that the active keys share equally; each has at least one. */
  together: number;
  /** Maximum length of a key's queue. */
  maxWaiting: number;
}

/**
 * Shares slots among keys: a key has `alone` slots until another key is active, and from then on each key has an equal share
 * of `together`. Work beyond the share waits in order, and other keys do not wait for it.
 * @typeParam Key of tenants: one that only a scope makes
 */
export class FairSemaphore<Key extends string = string> {
  readonly #policy: FairSemaphorePolicy;
  readonly #active: ActiveKeys<Key>;
  readonly #queues = new Map<Key, Queue>();

  /** @param active may be shared: a key counts as active when it has work in any of the semaphores that share it */
  constructor(policy: FairSemaphorePolicy, active: ActiveKeys<Key>) {
    this.#policy = policy;
    this.#active = active;
  }

  /** Whether the key's queue has a free slot. */
  canEnqueue(key: Key): boolean {
    return (this.#queues.get(key)?.waiting.length ?? 0) < this.#policy.maxWaiting;
  }

  /** The free slots of each key that had work here and is active. */
  free(): Map<Key, number> {
    const share = this.#share();
    this.#forgetInactive();
    const left = ({ underWay, waiting }: Queue) => Math.max(0, share - underWay - waiting.length);
    return new Map([...this.#queues].map(([key, queue]) => [key, left(queue)]));
  }

  /** The free slots of a key that is not active yet. */
  freeOfOthers(): number {
    return this.#share(1);
  }

  async run<Result>(key: Key, work: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { underWay: 0, waiting: [] };
    this.#active.begin(key);
    this.#queues.set(key, queue);
    if (queue.underWay < this.#share()) queue.underWay++;
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    try {
      return await work();
    } finally {
      queue.underWay--;
      this.#active.end(key);
      // One waiter takes over the slot; more than one if other keys have left.
      for (const share = this.#share(); queue.underWay < share && queue.waiting.length > 0; queue.underWay++)
        queue.waiting.shift()!();
    }
  }

  #share(more = 0): number {
    const { size } = this.#active.current();
    // A key can be active without a queue here, so this is not each inactive one; but there are never more of them.
    if (this.#queues.size > size) this.#forgetInactive();
    const { alone, together } = this.#policy;
    const keys = size + more;
    return keys <= 1 ? alone : Math.max(1, Math.floor(together / keys));
  }

  #forgetInactive(): void {
    const active = this.#active.current();
    for (const key of this.#queues.keys()) if (!active.has(key)) this.#queues.delete(key);
  }
}
