import { clock } from '../platform/clock.ts';
import { type AppError, rateLimited } from '../platform/errors.ts';

/** Bounds the memory that a flood from very many addresses takes. Above it the oldest windows are forgotten. */
const maxAddresses = 200_000;

interface Window {
  count: number;
  /** In ms since the epoch. */
  endsAt: number;
}

/**
 * Counts requests by network address in this process, in windows that begin with the first request of an address. No timers:
 * a window that has ended is removed when another one begins.
 */
export class AddressLimiter {
  readonly #max: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  /** In the order in which they end, because all windows are equally long. */
  readonly #windows = new Map<string, Window>();

  constructor(max: number, windowSeconds: number, now: () => number = clock.now) {
    this.#max = max;
    this.#windowMs = windowSeconds * 1000;
    this.#now = now;
  }

  /** Counts a request. @throws AppError rate_limit_exceeded */
  take(address: string): void {
    const now = this.#now();
    let window = this.#windows.get(address);
    if (!window || window.endsAt <= now) window = this.#begin(address, now);
    if (++window.count > this.#max) throw this.#refusal(window, now);
  }

  /** Counts one request less. */
  giveBack(address: string): void {
    const window = this.#windows.get(address);
    if (window && window.count > 0) window.count--;
  }

  /** The refusal of a further request; counts none. */
  refusal(address: string): AppError | undefined {
    const window = this.#windows.get(address);
    const now = this.#now();
    return window && window.count >= this.#max && window.endsAt > now ? this.#refusal(window, now) : undefined;
  }

  #refusal({ endsAt }: Window, now: number): AppError {
    const retryAfter = Math.max(1, Math.ceil((endsAt - now) / 1000));
    return rateLimited({ limit: this.#max, resetAt: Math.ceil(now / 1000) + retryAfter, retryAfter });
  }

  #begin(address: string, now: number): Window {
    this.#windows.delete(address);
    for (const [other, { endsAt }] of this.#windows) {
      if (endsAt > now && this.#windows.size < maxAddresses) break;
      this.#windows.delete(other);
    }
    const window = { count: 0, endsAt: now + this.#windowMs };
    this.#windows.set(address, window);
    return window;
  }
}
