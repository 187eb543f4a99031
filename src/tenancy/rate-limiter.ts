import {
  decide,
  fits,
  type RateCounts,
  type RateDecision,
  type RateLimits,
  windowStarts,
} from './core/rate-windows.ts';

/** Counts requests per minute and per UTC day. */
export interface RateLimiter {
  /** Decides about a request, and counts it if it is allowed. `subject` is an organization's environment or an address. */
  take(subject: string, limits: RateLimits): Promise<RateDecision>;
}

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

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async take(subject: string, limits: RateLimits): Promise<RateDecision> {
    return this.takeNow(subject, limits);
  }

  takeNow(subject: string, limits: RateLimits): RateDecision {
    const now = this.#now();
    const { counts } = this.#current(subject, now);
    const allowed = fits(limits, counts);
    if (allowed) {
      counts.minute++;
      counts.day++;
    }
    return decide(limits, counts, allowed, now);
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
