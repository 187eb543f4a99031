import { Redis } from 'ioredis';
import { clock } from '../platform/clock.ts';
import type { Log } from '../platform/observability/log.ts';
import {
  decide,
  decideAlone,
  decideOperation,
  type OperationLimit,
  type RateCounts,
  type RateDecision,
  type RateLimits,
  windowStarts,
} from './core/rate-windows.ts';
import { MemoryRateLimiter, type RateLimiter } from './rate-limiter.ts';

/** Counts requests in both windows or in neither, atomically. Returns {allowed, minute, day}. */
const takeAll = `
local minute = tonumber(redis.call('GET', KEYS[1]) or '0')
local day = tonumber(redis.call('GET', KEYS[2]) or '0')
local requests = tonumber(ARGV[3])
if minute + requests > tonumber(ARGV[1]) or day + requests > tonumber(ARGV[2]) then return {0, minute, day} end
redis.call('SET', KEYS[1], minute + requests, 'EX', 120)
redis.call('SET', KEYS[2], day + requests, 'EX', 172800)
return {1, minute + requests, day + requests}`;

/** The same with the minute of an operation. Returns {allowed, minute, day, minute of the operation}. */
const takeOneOfOperation = `
local counts = {}
local allowed = 1
for i = 1, 3 do
  counts[i] = tonumber(redis.call('GET', KEYS[i]) or '0')
  if counts[i] >= tonumber(ARGV[i]) then allowed = 0 end
end
if allowed == 1 then
  for i = 1, 3 do
    counts[i] = counts[i] + 1
    redis.call('SET', KEYS[i], counts[i], 'EX', i == 2 and 172800 or 120)
  end
end
return {allowed, counts[1], counts[2], counts[3]}`;

/** The minute of an operation alone. Returns {allowed, minute of the operation}. */
const takeOneOfOperationAlone = `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then return {0, count} end
redis.call('SET', KEYS[1], count + 1, 'EX', 120)
return {1, count + 1}`;

const takeSomeOfDay = `
local day = tonumber(redis.call('GET', KEYS[1]) or '0') + tonumber(ARGV[2])
if day > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], day, 'EX', 172800)
return 1`;

// The hash tag in braces places the keys of a subject on one node of a cluster.
const keyOf = (subject: string, window: 'm' | 'd', start: number) => `atelier:rate:{${subject}}:${window}${start}`;

/** Timeout of a Redis command, after which the process counts on its own. */
const commandTimeoutMs = 250;

/** Exact across any number of API processes. While Redis does not answer, each process counts on its own. */
export class RedisRateLimiter implements RateLimiter {
  readonly #redis: Redis;
  readonly #fallback = new MemoryRateLimiter();

  constructor(url: string, log: Log) {
    this.#redis = new Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      connectTimeout: 2_000,
      commandTimeout: commandTimeoutMs,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    });
    this.#redis.on('error', (error) => log.warn({ err: error }, 'Redis does not answer; limits are per process'));
  }

  /** The connection, for what else is counted. */
  get redis(): Redis {
    return this.#redis;
  }

  /** Starts to connect. If Redis is unavailable, connecting is retried. */
  start(): void {
    this.#redis.connect().catch(() => {});
  }

  async take(subject: string, limits: RateLimits, requests = 1): Promise<RateDecision> {
    const now = clock.now();
    const { minute, day } = windowStarts(now);
    try {
      const keys = [keyOf(subject, 'm', minute), keyOf(subject, 'd', day)];
      const answer = await this.#redis.eval(takeAll, 2, ...keys, limits.perMinute, limits.perDay, requests);
      const [allowed, minuteCount, dayCount] = answer as [number, number, number];
      return decide(limits, { minute: minuteCount, day: dayCount }, allowed === 1, now, requests);
    } catch {
      return this.#fallback.take(subject, limits, requests);
    }
  }

  async takeOperation(
    subject: string,
    limits: RateLimits,
    { name, perMinute: limit }: OperationLimit,
  ): Promise<RateDecision> {
    const now = clock.now();
    const { minute, day } = windowStarts(now);
    try {
      const ofMinute = keyOf(subject, 'm', minute);
      const keys = [ofMinute, keyOf(subject, 'd', day), `${ofMinute}:${name}`];
      const answer = await this.#redis.eval(takeOneOfOperation, 3, ...keys, limits.perMinute, limits.perDay, limit);
      const [allowed, minuteCount, dayCount, count] = answer as [number, number, number, number];
      const counts = { minute: minuteCount, day: dayCount };
      return decideOperation(limits, counts, { limit, count }, allowed === 1, now);
    } catch {
      return this.#fallback.takeOperation(subject, limits, { name, perMinute: limit });
    }
  }

  async takeOfOperation(subject: string, operation: OperationLimit): Promise<RateDecision> {
    const now = clock.now();
    const { name, perMinute: limit } = operation;
    try {
      const key = `${keyOf(subject, 'm', windowStarts(now).minute)}:${name}`;
      const [allowed, count] = (await this.#redis.eval(takeOneOfOperationAlone, 1, key, limit)) as [number, number];
      return decideAlone({ limit, count }, allowed === 1, now);
    } catch {
      return this.#fallback.takeOfOperation(subject, operation);
    }
  }

  takeNow(): undefined {
    return undefined;
  }

  refusal(): undefined {
    return undefined;
  }

  async takeOfDay(subject: string, perDay: number, count = 1): Promise<boolean> {
    try {
      const { day } = windowStarts(clock.now());
      return (await this.#redis.eval(takeSomeOfDay, 1, keyOf(subject, 'd', day), perDay, count)) === 1;
    } catch {
      return this.#fallback.takeOfDayNow(subject, perDay, count);
    }
  }

  async counts(subject: string, operations: readonly string[]): Promise<RateCounts & { operations: number[] }> {
    const { minute, day } = windowStarts(clock.now());
    const ofMinute = keyOf(subject, 'm', minute);
    try {
      const names = [ofMinute, keyOf(subject, 'd', day), ...operations.map((name) => `${ofMinute}:${name}`)];
      const [minuteCount, dayCount, ...rest] = (await this.#redis.mget(names)).map((text) => Number(text ?? 0));
      return { minute: minuteCount!, day: dayCount!, operations: rest };
    } catch {
      return this.#fallback.counts(subject, operations);
    }
  }

  async isUp(): Promise<boolean> {
    return (await this.#redis.ping().catch(() => '')) === 'PONG';
  }

  stop(): void {
    this.#redis.disconnect();
  }
}
