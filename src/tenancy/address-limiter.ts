import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { rateLimited } from '../platform/errors.ts';

/** Counts requests by network address in this process, in windows that begin with the first request of an address. */
export class AddressLimiter {
  readonly #limiter: RateLimiterMemory;
  readonly #max: number;

  constructor(max: number, windowSeconds: number) {
    this.#max = max;
    this.#limiter = new RateLimiterMemory({ points: max, duration: windowSeconds });
  }

  /** Counts a request. @throws AppError rate_limit_exceeded */
  async take(address: string): Promise<void> {
    try {
      await this.#limiter.consume(address);
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      const retryAfter = Math.max(1, Math.ceil(refused.msBeforeNext / 1000));
      throw rateLimited({ limit: this.#max, resetAt: Math.ceil(Date.now() / 1000) + retryAfter, retryAfter });
    }
  }
}
