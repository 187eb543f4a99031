import { concurrencyLimitReached } from '../platform/errors.ts';

/** Counts concurrently open requests. */
export interface OpenCounter {
  /** Takes a place, if there are fewer than `limit`. @returns what gives it free, once; undefined when all are taken */
  enter(subject: string, limit: number): Promise<(() => void) | undefined>;
  /** How many places are taken. */
  count(subject: string): Promise<number>;
}

/** A kind of requests, and how many of them may be open at the same time. */
export type Place = readonly [subject: string, limit: number];

/** Takes all of these places or none. @returns what gives them free, once. @throws AppError rate_limit_exceeded */
export async function enterAll(counter: OpenCounter, places: readonly Place[]): Promise<() => void> {
  const entered: (() => void)[] = [];
  const leave = () => {
    for (const one of entered.splice(0)) one();
  };
  for (const [subject, limit] of places) {
    const one = await counter.enter(subject, limit);
    if (!one) {
      leave();
      throw concurrencyLimitReached(limit);
    }
    entered.push(one);
  }
  return leave;
}

/** Counts the open requests of this process. */
export class MemoryOpenCounter implements OpenCounter {
  readonly #counts = new Map<string, number>();

  async count(subject: string): Promise<number> {
    return this.#counts.get(subject) ?? 0;
  }

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
