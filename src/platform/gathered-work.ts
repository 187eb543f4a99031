import { setImmediate as nextTurn } from 'node:timers/promises';

/** Does several items at once, and says of each what came of it, in their order. */
export type WorkOnAll<Item, Outcome> = (items: Item[]) => Promise<PromiseSettledResult<Outcome>[]>;

export interface GatheringLimits {
  /** Batches of one key that are under way at the same time. */
  atOnce: number;
  /** Items of a batch. */
  perBatch: number;
  /** Items of one key that wait. */
  mostWaiting: number;
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
  readonly #limits: GatheringLimits;
  readonly #lines = new Map<string, Line<Item, Outcome>>();

  constructor(limits: GatheringLimits) {
    this.#limits = limits;
  }

  /** Whether a further item of the key may come. */
  hasRoom(key: string): boolean {
    return (this.#lines.get(key)?.waiting.length ?? 0) < this.#limits.mostWaiting;
  }

  /** @param work does the batch; the same for all items of the key. When it rejects, so do all items of the batch. */
  run(key: string, item: Item, work: WorkOnAll<Item, Outcome>): Promise<Outcome> {
    const line = this.#lines.get(key) ?? { underWay: 0, waiting: [] };
    this.#lines.set(key, line);
    const done = new Promise<Outcome>((resolve, reject) => line.waiting.push({ item, resolve, reject }));
    if (line.underWay < this.#limits.atOnce) {
      line.underWay++;
      void this.#workOff(key, line, work);
    }
    return done;
  }

  async #workOff(key: string, line: Line<Item, Outcome>, work: WorkOnAll<Item, Outcome>): Promise<void> {
    // Items that come in the same turn of the event loop share a batch.
    for (await nextTurn(); line.waiting.length > 0; await nextTurn()) {
      const batch = line.waiting.splice(0, this.#limits.perBatch);
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
}
