import type { AppError } from '../../platform/errors.ts';
import { AddressLimiter } from '../address-limiter.ts';

/** A window of one limit, which begins with the first thing that counts in it. */
export interface CountedWindow {
  /** The limit, one of few: `failed passwords of an account`. */
  limit: string;
  /** The account or the address that it counts; empty for all together. */
  of: string;
  max: number;
  seconds: number;
}

/** The count, or the reason why there is none. */
export type Counted = { refusal: AppError } | { refusal?: undefined; giveBack(): Promise<void> };

/** Counts in several windows at once: in all of them or, where one is full, in none. */
export interface WindowCounter {
  take(windows: readonly CountedWindow[]): Promise<Counted>;
}

/** Counts in this process alone. */
export class MemoryWindowCounter implements WindowCounter {
  readonly #limiters = new Map<string, AddressLimiter>();

  async take(windows: readonly CountedWindow[]): Promise<Counted> {
    const counted = windows.map(({ limit, of, max, seconds }) => {
      const limiter = this.#limiters.get(limit) ?? new AddressLimiter(max, seconds);
      this.#limiters.set(limit, limiter);
      return { limiter, of };
    });
    for (const { limiter, of } of counted) {
      const refusal = limiter.refusal(of);
      if (refusal) return { refusal };
    }
    for (const { limiter, of } of counted) limiter.take(of);
    return {
      async giveBack() {
        for (const { limiter, of } of counted) limiter.giveBack(of);
      },
    };
  }
}
