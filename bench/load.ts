import { setTimeout as sleep } from 'node:timers/promises';
import type { Round } from './interleave.ts';
import { median } from './statistics.ts';

export type Operation = () => Promise<unknown>;

/** Pause after an operation, so that its background work ends before the next one. */
const aloneRestMs = 25;

/** The median time of one operation in ms, without concurrent operations. */
export async function timeAlone(operation: Operation, { count }: { count: number }): Promise<Round> {
  const times: number[] = [];
  for (let done = 0; done < count; done++) {
    const start = performance.now();
    await operation();
    times.push(performance.now() - start);
    await sleep(aloneRestMs);
  }
  return { value: median(times), operations: count };
}

export interface Crowd {
  concurrency: number;
  /** Not counted: the time until all callers are active. */
  rampMs: number;
  windowMs: number;
}

/** Operations per second of a fixed number of concurrent callers. */
export async function ratePerSecond(operation: Operation, { concurrency, rampMs, windowMs }: Crowd): Promise<Round> {
  const from = performance.now() + rampMs;
  const until = from + windowMs;
  let counted = 0;
  let operations = 0;
  const caller = async () => {
    while (performance.now() < until) {
      await operation();
      operations++;
      const now = performance.now();
      if (now >= from && now < until) counted++;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, caller));
  return { value: (counted * 1000) / windowMs, operations };
}
