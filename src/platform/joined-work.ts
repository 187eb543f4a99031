import { isDatabaseUnavailable } from './database-errors.ts';

export interface JoinedWorkOptions<Item, Result> {
  /** Does the work of all items together. @returns a result for each, in their order */
  work(items: readonly Item[]): Promise<readonly Result[]>;
  /** What an item adds; together at most 1, but for one item alone. */
  weightOf(item: Item): number;
  /** Works of one key that are under way at the same time. */
  atOnce: number;
}

interface Asked<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Line<Item, Result> {
  underWay: number;
  isDue: boolean;
  waiting: Asked<Item, Result>[];
}

/**
 * Does together what several callers ask for at the same time: a statement with a hundred rows costs little more than one
 * with a single row. Who comes first is not kept waiting; what comes while that is under way is joined.
 */
export class JoinedWork<Item, Result> {
  readonly #options: JoinedWorkOptions<Item, Result>;
  readonly #lines = new Map<string, Line<Item, Result>>();

  constructor(options: JoinedWorkOptions<Item, Result>) {
    this.#options = options;
  }

  /**
   * Joins only items of the same key. Work that fails is done again for each of its items alone, so that nobody fails because
   * of another, unless the database is unavailable.
   * @throws what the work of this item throws
   */
  ask(key: string, item: Item): Promise<Result> {
    const line = this.#lines.get(key) ?? { underWay: 0, isDue: false, waiting: [] };
    this.#lines.set(key, line);
    return new Promise<Result>((resolve, reject) => {
      line.waiting.push({ item, resolve, reject });
      this.#beginSoon(key, line);
    });
  }

  /** Not at once: others may ask in the same turn of the event loop. */
  #beginSoon(key: string, line: Line<Item, Result>): void {
    if (line.isDue || line.underWay >= this.#options.atOnce || line.waiting.length === 0) return;
    line.isDue = true;
    setImmediate(() => {
      line.isDue = false;
      void this.#run(key, line);
    });
  }

  async #run(key: string, line: Line<Item, Result>): Promise<void> {
    line.underWay++;
    const joined = this.#next(line);
    this.#beginSoon(key, line);
    await this.#workOn(joined);
    line.underWay--;
    this.#beginSoon(key, line);
    if (line.underWay === 0 && line.waiting.length === 0) this.#lines.delete(key);
  }

  #next({ waiting }: Line<Item, Result>): Asked<Item, Result>[] {
    let count = 0;
    for (let weight = 0; count < waiting.length; count++) {
      weight += this.#options.weightOf(waiting[count]!.item);
      if (weight > 1 && count > 0) break;
    }
    return waiting.splice(0, count);
  }

  async #workOn(joined: readonly Asked<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.work(joined.map(({ item }) => item));
      for (const [index, { resolve }] of joined.entries()) resolve(results[index]!);
    } catch (error) {
      if (joined.length > 1 && !isDatabaseUnavailable(error)) for (const one of joined) await this.#workOn([one]);
      else for (const { reject } of joined) reject(error);
    }
  }
}
