import { clock } from '../platform/clock.ts';
import type { Tenant } from '../platform/tenant.ts';
import {
  decide,
  decideAlone,
  decideOperation,
  fits,
  type OperationLimit,
  type RateCounts,
  type RateDecision,
  type RateLimits,
  windowStarts,
} from './core/rate-windows.ts';

/** Counts requests per minute and per UTC day. */
export interface RateLimiter {
  /**
   * Decides about a request, and counts it if it is allowed. `subject` is that of `subjectOf`. A promise only if
   * another process must be asked.
   * @param requests how many it counts as: all of them or none
   */
  take(subject: string, limits: RateLimits, requests?: number): RateDecision | Promise<RateDecision>;
  /** The same for a request that counts in the window of its operation as well: in all windows or in none. */
  takeOperation(subject: string, limits: RateLimits, operation: OperationLimit): RateDecision | Promise<RateDecision>;
  /** Counts work that is not a request, only in the window of its operation. */
  takeOfOperation(subject: string, operation: OperationLimit): RateDecision | Promise<RateDecision>;
  /** The same as `take` if this process decides alone; otherwise undefined, without counting. */
  takeNow(subject: string, limits: RateLimits): RateDecision | undefined;
  /** The decision about a request that would be refused, where this process knows it. Counts nothing. */
  refusal(subject: string, limits: RateLimits): RateDecision | undefined;
  /**
   * Counts work that is not a request, only in the day's window: all of it or none. @returns false if too little is
   * left
   */
  takeOfDay(subject: string, perDay: number, count?: number): Promise<boolean>;
  /** The counts of the current windows. @param operations by their names, in their order */
  counts(subject: string, operations: readonly string[]): Promise<RateCounts & { operations: number[] }>;
}

/** An organization's environment, as the limiter names it. */
export const subjectOf = ({ organizationId, environment }: Tenant): string => `${organizationId}:${environment}`;

interface Windows {
  minuteStart: number;
  dayStart: number;
  counts: RateCounts;
}

/** Limits memory. Above it, subjects without a request in this minute are removed first. */
const maxSubjects = 100_000;

/** Counts in this process only. Exact when one process serves the API, until it restarts. */
export class MemoryRateLimiter implements RateLimiter {
  readonly #now: () => number;
  readonly #windows = new Map<string, Windows>();

  constructor(now: () => number = clock.now) {
    this.#now = now;
  }

  take(subject: string, limits: RateLimits, requests = 1): RateDecision {
    const now = this.#now();
    const { counts } = this.#current(subject, now);
    const allowed = fits(limits, counts, requests);
    if (allowed) {
      counts.minute += requests;
      counts.day += requests;
    }
    return decide(limits, counts, allowed, now, requests);
  }

  takeOperation(subject: string, limits: RateLimits, { name, perMinute }: OperationLimit): RateDecision {
    const now = this.#now();
    const { counts } = this.#current(subject, now);
    const ofOperation = this.#current(`${subject}:${name}`, now).counts;
    const allowed = fits(limits, counts) && ofOperation.minute < perMinute;
    if (allowed) {
      counts.minute++;
      counts.day++;
      ofOperation.minute++;
    }
    return decideOperation(limits, counts, { limit: perMinute, count: ofOperation.minute }, allowed, now);
  }

  takeOfOperation(subject: string, { name, perMinute }: OperationLimit): RateDecision {
    const now = this.#now();
    const { counts } = this.#current(`${subject}:${name}`, now);
    const allowed = counts.minute < perMinute;
    if (allowed) counts.minute++;
    return decideAlone({ limit: perMinute, count: counts.minute }, allowed, now);
  }

  takeNow(subject: string, limits: RateLimits): RateDecision {
    return this.take(subject, limits);
  }

  refusal(subject: string, limits: RateLimits): RateDecision | undefined {
    const now = this.#now();
    const { counts } = this.#current(subject, now);
    return fits(limits, counts) ? undefined : decide(limits, counts, false, now);
  }

  async takeOfDay(subject: string, perDay: number, count = 1): Promise<boolean> {
    return this.takeOfDayNow(subject, perDay, count);
  }

  takeOfDayNow(subject: string, perDay: number, count = 1): boolean {
    const { counts } = this.#current(subject, this.#now());
    if (counts.day + count > perDay) return false;
    counts.day += count;
    return true;
  }

  async counts(subject: string, operations: readonly string[]): Promise<RateCounts & { operations: number[] }> {
    const now = this.#now();
    const countsOf = (of: string): RateCounts => {
      const windows = this.#windows.get(of);
      const { minute, day } = windowStarts(now);
      return {
        minute: windows?.minuteStart === minute ? windows.counts.minute : 0,
        day: windows?.dayStart === day ? windows.counts.day : 0,
      };
    };
    const { minute, day } = countsOf(subject);
    return { minute, day, operations: operations.map((name) => countsOf(`${subject}:${name}`).minute) };
  }

  #current(subject: string, now: number): Windows {
    const { minute, day } = windowStarts(now);
    let windows = this.#windows.get(subject);
    if (!windows) {
      if (this.#windows.size >= maxSubjects) this.#forget(minute);
      windows = { minuteStart: minute, dayStart: day, counts: { minute: 0, day: 0 } };
      this.#windows.set(subject, windows);
    }
    if (windows.minuteStart !== minute) windows.counts.minute = 0;
    if (windows.dayStart !== day) windows.counts.day = 0;
    windows.minuteStart = minute;
    windows.dayStart = day;
    return windows;
  }

  #forget(minute: number): void {
    for (const [subject, windows] of this.#windows) {
      if (windows.minuteStart !== minute) this.#windows.delete(subject);
    }
    if (this.#windows.size >= maxSubjects) this.#windows.clear();
  }
}
