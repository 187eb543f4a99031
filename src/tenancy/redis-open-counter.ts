import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { MemoryOpenCounter, type OpenCounter } from './open-counter.ts';

/** A process that dies gives its places free after this time. */
const leaseMs = 30_000;
const renewEveryMs = 10_000;

// Redis' clock, because those of the processes differ.
const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** Takes a slot, unless all are taken by unexpired leases. */
const enterOne = `${now}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`;

const renewOne = `${now}
redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])`;

const keyOf = (subject: string) => `atelier:open:{${subject}}`;

/** Counts the open requests of all processes. While Redis does not answer, each process counts on its own. */
export class RedisOpenCounter implements OpenCounter {
  readonly #redis: Redis;
  readonly #fallback = new MemoryOpenCounter();
  /** The slots of this process, each with its subject. */
  readonly #places = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async enter(subject: string, limit: number): Promise<(() => void) | undefined> {
    const place = randomUUID();
    try {
      const entered = await this.#redis.eval(enterOne, 1, keyOf(subject), leaseMs, place, limit);
      if (entered !== 1) return undefined;
    } catch {
      return this.#fallback.enter(subject, limit);
    }
    this.#places.set(place, subject);
    this.#timer ??= setInterval(() => this.#renew(), renewEveryMs).unref();
    return () => {
      this.#places.delete(place);
      // If this fails, the lease ends by itself.
      this.#redis.zrem(keyOf(subject), place).catch(() => {});
    };
  }

  async count(subject: string): Promise<number> {
    try {
      return await this.#redis.zcard(keyOf(subject));
    } catch {
      return this.#fallback.count(subject);
    }
  }

  #renew(): void {
    for (const [place, subject] of this.#places) {
      this.#redis.eval(renewOne, 1, keyOf(subject), leaseMs, place).catch(() => {});
    }
  }
}
