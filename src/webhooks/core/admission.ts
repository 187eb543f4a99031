import { admit, type Breaker, type BreakerPolicy, defaultBreakerPolicy } from './breaker.ts';

/** What decides how many attempts a subscription may begin. Times are ms since the epoch. */
export interface SubscriptionLoad {
  breaker: Breaker;
  /** Attempts under way at the same time at most, and those that are. */
  concurrency: number;
  inFlight: number;
  /** Attempts per minute at most; null for any number. */
  rateLimit: number | null;
  /** When the rate would be used up evenly; null at first. */
  rateFreeAt: number | null;
}

/** Who is admitted must store what changed before anything is sent. */
export interface Admitted {
  attempts: number;
  breaker: Breaker;
  rateFreeAt: number | null;
  /** When no attempt may begin: after how long it is worth asking again, in ms. */
  waitMs: number;
}

/** A second's worth may come at once, so that a batch need not be spread out. */
const burstMs = 1_000;
/** When a place among the attempts under way is free is not known; most attempts are over by then. */
const busyWaitMs = 1_000;

/**
 * How many of `wanted` attempts may begin at `now`. The rate is kept by the generic cell rate algorithm (ITU-T I.371):
 * each attempt moves the time by one interval, and that time may be ahead of the clock by a second's worth.
 */
export function admitAttempts(
  load: SubscriptionLoad,
  wanted: number,
  now: number,
  policy: BreakerPolicy = defaultBreakerPolicy,
): Admitted {
  const none = (waitMs: number): Admitted => ({
    attempts: 0,
    breaker: load.breaker,
    rateFreeAt: load.rateFreeAt,
    waitMs,
  });
  const admission = admit(load.breaker, now, policy);
  if (!admission.admitted) return none(admission.waitMs);
  const isProbe = load.breaker.nextProbeAt !== null;
  const places = Math.min(load.concurrency - load.inFlight, isProbe ? 1 : wanted, wanted);
  if (places <= 0) return none(busyWaitMs);
  const { breaker } = admission;
  if (load.rateLimit === null) return { attempts: places, breaker, rateFreeAt: load.rateFreeAt, waitMs: 0 };
  const interval = 60_000 / load.rateLimit;
  const from = Math.max(load.rateFreeAt ?? now, now);
  const horizon = now + Math.max(burstMs, interval);
  // A hair more, so that what fits exactly is not lost to the last binary digit.
  const attempts = Math.min(places, Math.floor((horizon - from) / interval + 1e-6));
  if (attempts <= 0) return none(Math.ceil(from + interval - horizon));
  return { attempts, breaker, rateFreeAt: from + attempts * interval, waitMs: 0 };
}

/** Deliveries of one subscription that may be attempted now. */
export interface Waiting {
  /** That wait for their first attempt. */
  first: number;
  /** Retries that are due. */
  retries: number;
}

/**
 * Divides places between first attempts and retries: half each while both wait, so that neither has to wait for the end
 * of the other's backlog. Of an odd number chance gives the last place.
 * @param chance in [0, 1)
 */
export function takeTurns(places: number, waiting: Waiting, chance: number): Waiting {
  const half = Math.floor(places / 2 + (chance < 0.5 ? 0.5 : 0));
  const retries = Math.min(waiting.retries, Math.max(half, places - waiting.first));
  return { first: Math.min(waiting.first, places - retries), retries };
}

const longestHoldMs = 3_600_000;
const shareOfAge = 0.1;

/**
 * How long a delivery that is held back waits: until it may be admitted, and the longer the older it is, so that
 * thousands that wait for one receiver do not all ask every time.
 */
export const holdMs = (waitMs: number, ageMs: number): number =>
  Math.max(waitMs, Math.min(Math.round(ageMs * shareOfAge), longestHoldMs));
