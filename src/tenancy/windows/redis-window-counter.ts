import type { Redis } from 'ioredis';
import { clock } from '../../platform/clock.ts';
import { rateLimited } from '../../platform/errors.ts';
import { type Counted, type CountedWindow, MemoryWindowCounter, type WindowCounter } from './window-counter.ts';

/** Returns {0}, or which window is full and the milliseconds until it ends. */
const takeAll = `
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i - 1]) then
    return {i, redis.call('PTTL', KEYS[i])}
  end
end
for i = 1, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[2 * i]) end
end
return {0, 0}`;

const giveAllBack = `
for i = 1, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then redis.call('DECR', KEYS[i]) end
end`;

// The hash tag in braces places all keys on one node of a cluster: they are counted together.
const keyOf = ({ limit, of }: CountedWindow) => `atelier:window:{windows}:${limit}:${of}`;

/** Counts in all processes. While Redis does not answer, each process counts on its own. */
export class RedisWindowCounter implements WindowCounter {
  readonly #redis: Redis;
  readonly #fallback = new MemoryWindowCounter();

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async take(windows: readonly CountedWindow[]): Promise<Counted> {
    const keys = windows.map(keyOf);
    const limits = windows.flatMap(({ max, seconds }) => [max, Math.ceil(seconds * 1000)]);
    let full: number;
    let remainingMs: number;
    try {
      [full, remainingMs] = (await this.#redis.eval(takeAll, keys.length, ...keys, ...limits)) as [number, number];
    } catch {
      return this.#fallback.take(windows);
    }
    const window = windows[full - 1];
    if (window) {
      const retryAfter = Math.max(1, Math.ceil(remainingMs / 1000));
      const resetAt = Math.ceil(clock.now() / 1000) + retryAfter;
      return { refusal: rateLimited({ limit: window.max, resetAt, retryAfter }) };
    }
    return {
      giveBack: async () => {
        // If this fails, the window ends by itself.
        await this.#redis.eval(giveAllBack, keys.length, ...keys).catch(() => {});
      },
    };
  }
}
