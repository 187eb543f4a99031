import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDatabaseUnavailable } from './database-errors.ts';

/** Does several items at once, and says of each what came of it, in their order. */
export type WorkOnAll<Item, Outcome> = (items: Item[]) => Promise<PromiseSettledResult<Outcome>[]>;

/**
 * Work that shares one statement or one transaction. When it fails, it is done again for each item alone, so that nobody
 * fails because of another, unless the database is unavailable: what was committed is unknown then, and all would wait.
 * @param work resolves with an outcome for each item, in their order
 */
export async function orEachAlone<Item, Outcome>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<readonly Outcome[]>,
): Promise<PromiseSettledResult<Outcome>[]> {
  try {
    return (await work(items)).map((value) => ({ status: 'fulfilled', value }));
  } catch (reason) {
    if (items.length === 1 || isDatabaseUnavailable(reason)) return items.map(() => ({ status: 'rejected', reason }));
    const settled: PromiseSettledResult<Outcome>[] = [];
    for (const item of items) settled.push(...(await orEachAlone([item], work)));
    return settled;
  }
}

export interface GatheringLimits<Item> {
  /** Batches of one key that are under way at the same time. */
  maxConcurrent: number;
  /** The share of a batch that an item takes. A batch has one item, or several that take at most the whole of it. */
  shareOf(item: Item): number;
  /** Items of one key that wait. Default: as many as come. */
  maxWaiting?: number;
}

interface Waiting<Item, Outcome> {
  item: Item;
  resolve(outcome: Outcome): void;
  reject(error: unknown): void;
}

interface Line<Item, Outcome> {
  underWay: number;
  waiting: Waiting<Item, Outcome>[];
}

/**
 * Does the items of one key in batches, so that they share what a transaction costs. An item that comes alone is done at
 * once; those that come while batches are under way go into the next one together.
 */
export class GatheredWork<Item, Outcome> {
  readonly #limits: GatheringLimits<Item>;
  readonly #lines = new Map<string, Line<Item, Outcome>>();

  constructor(limits: GatheringLimits<Item>) {
    this.#limits = limits;
  }

  /** Whether a further item of the key may come. */
  hasRoom(key: string): boolean {
    const { maxWaiting = Number.POSITIVE_INFINITY } = this.#limits;
    return (this.#lines.get(key)?.waiting.length ?? 0) < maxWaiting;
  }

  /** @param work does the batch; the same for all items of the key. When it rejects, so do all items of the batch. */
  run(key: string, item: Item, work: WorkOnAll<Item, Outcome>): Promise<Outcome> {
    const line = this.#lines.get(key) ?? { underWay: 0, waiting: [] };
    this.#lines.set(key, line);
    const done = new Promise<Outcome>((resolve, reject) => line.waiting.push({ item, resolve, reject }));
    if (line.underWay < this.#limits.maxConcurrent) {
      line.underWay++;
      void this.#workOff(key, line, work);
    }
    return done;
  }

  async #workOff(key: string, line: Line<Item, Outcome>, work: WorkOnAll<Item, Outcome>): Promise<void> {
    // Items that come in the same turn of the event loop share a batch.
    for (await nextTurn(); line.waiting.length > 0; await nextTurn()) {
      const batch = this.#next(line);
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
    if (--line.underWay === 0) this.#lines.delete(key);
  }

  #next({ waiting }: Line<Item, Outcome>): Waiting<Item, Outcome>[] {
    let count = 0;
    for (let taken = 0; count < waiting.length; count++) {
      taken += this.#limits.shareOf(waiting[count]!.item);
      if (taken > 1 && count > 0) break;
    }
    return waiting.splice(0, count);
  }
}
