import { admit, type Breaker, type BreakerPolicy, defaultBreakerPolicy } from './breaker.ts';

/** What decides how many attempts a subscription may begin. Times are ms since the epoch. */
export interface SubscriptionLoad {
  breaker: Breaker;
  /** Attempts in flight at most, and now. */
  concurrency: number;
  inFlight: number;
  /** Attempts per minute at most; null for no limit. */
  rateLimit: number | null;
  /** The theoretical arrival time of the rate algorithm; null before the first attempt. */
  rateFreeAt: number | null;
}

/** The caller must store `breaker` and `rateFreeAt` before it sends. */
export interface Admitted {
  attempts: number;
  breaker: Breaker;
  rateFreeAt: number | null;
  /** If no attempt may begin: ms after which to ask again. */
  waitMs: number;
}

/** Attempts of one second may be sent at once. */
const burstMs = 1_000;
/** While all places are taken: most attempts have ended by then. */
const busyWaitMs = 1_000;

/**
 * How many of `wanted` attempts may begin at `now`. The rate is kept by the generic cell rate algorithm (ITU-T I.371):
 * each attempt moves the theoretical arrival time by one interval, and it may be ahead of the clock by one second.
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
  // The small addition absorbs rounding errors.
  const attempts = Math.min(places, Math.floor((horizon - from) / interval + 1e-6));
  if (attempts <= 0) return none(Math.ceil(from + interval - horizon));
  return { attempts, breaker, rateFreeAt: from + attempts * interval, waitMs: 0 };
}

/** Deliveries of one subscription that wait for a place. */
export interface Waiting {
  /** Waiting for their first attempt. */
  first: number;
  /** Retries that are due. */
  retries: number;
}

/**
 * Divides free places between first attempts and retries: half each while both wait, so that neither waits for the other's
 * backlog to end. An odd place goes to either at random.
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
 * How long a delivery is put off while the breaker is open: until the next probe, and longer the older it is, so that not
 * all of thousands ask at every probe.
 */
export const holdMs = (waitMs: number, ageMs: number): number =>
  Math.max(waitMs, Math.min(Math.round(ageMs * shareOfAge), longestHoldMs));
