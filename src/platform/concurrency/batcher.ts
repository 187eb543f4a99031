import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { isDatabaseUnavailable } from '../database/database-errors.ts';

/** Processes several items together. Resolves with the outcome of each, in their order. */
type BatchWork<Item, Outcome> = (items: Item[]) => Promise<PromiseSettledResult<Outcome>[]>;

/**
 * Runs work in which several items share a statement or a transaction. If it fails, each item is retried individually:
 * one bad item must not fail the batch. There is no retry while the database is unavailable: the commit is then
 * unknown, and every item would wait.
 * @param work resolves with an outcome for each item, in their order
 */
export async function retryIndividually<Item, Outcome>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): Promise<PromiseSettledResult<Outcome>[]> {
  try {
    return (await work(items)).map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (items.length === 1 || isDatabaseUnavailable(reason)) return items.map(() => ({ status: 'rejected', reason }));
    const settled: PromiseSettledResult<Outcome>[] = [];
    for (const item of items) settled.push(...(await retryIndividually([item], work)));
    return settled;
  }
}

export interface BatchLimits<Item> {
  /** Maximum number of concurrent batches of one key. */
  maxConcurrent: number;
  /** The weight of an item. A batch has one item, or several with a total weight of at most 1. */
  weightOf(item: Item): number;
  /** Maximum length of a key's queue. Default: no limit. */
  maxWaiting?: number;
}

interface Waiting<Item, Outcome> {
  item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Queue<Item, Outcome> {
  underWay: number;
  waiting: Waiting<Item, Outcome>[];
}

/**
 * Processes the items of a key in batches, so that they share the cost of a transaction. A single item starts immediately;
 * items that arrive while batches run go into the next batch.
 */
export class Batcher<Item, Outcome> {
  readonly #limits: BatchLimits<Item>;
  readonly #queues = new Map<string, Queue<Item, Outcome>>();

  constructor(limits: BatchLimits<Item>) {
    this.#limits = limits;
  }

  /** Whether the key's queue has a free slot. */
  canEnqueue(key: string): boolean {
    const { maxWaiting = Number.POSITIVE_INFINITY } = this.#limits;
    return (this.#queues.get(key)?.waiting.length ?? 0) < maxWaiting;
  }

  /** @param work does the batch; the same for all items of the key. When it rejects, so do all items of the batch. */
  run(key: string, item: Item, work: BatchWork<Item, Outcome>): Promise<Outcome> {
    const queue = this.#queues.get(key) ?? { underWay: 0, waiting: [] };
    this.#queues.set(key, queue);
    const done = new Promise<Outcome>((resolve, reject) => queue.waiting.push({ item, resolve, reject }));
    if (queue.underWay < this.#limits.maxConcurrent) {
      queue.underWay++;
      void this.#workOff(key, queue, work);
    }
    return done;
  }

  async #workOff(key: string, queue: Queue<Item, Outcome>, work: BatchWork<Item, Outcome>): Promise<void> {
    // Items that arrive in the same iteration of the event loop share a batch.
    for (await yieldToEventLoop(); queue.waiting.length > 0; await yieldToEventLoop()) {
      const batch = this.#next(queue);
      try {
        const settled = await work(batch.map(({ item }) => item));
        for (const [index, { resolve, reject }] of batch.entries()) {
          const one = settled[index]!;
          if (one.status === 'fulfilled') resolve(one.value);
          else reject(one.reason);
        }
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    if (--queue.underWay === 0) this.#queues.delete(key);
  }

  #next({ waiting }: Queue<Item, Outcome>): Waiting<Item, Outcome>[] {
    let count = 0;
    for (let taken = 0; count < waiting.length; count++) {
      taken += this.#limits.weightOf(waiting[count]!.item);
      if (taken > 1 && count > 0) break;
    }
    return waiting.splice(0, count);
  }
}
