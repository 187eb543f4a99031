import { admit, type Breaker, type BreakerPolicy, closedBreaker, defaultBreakerPolicy } from './breaker.ts';

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
  /** Whether an operator lets nothing be sent. */
  isPaused?: boolean;
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

/** The same while the breaker does not count: for attempts that a caller waits for. It stays as it is. */
export const admitExempt = (load: SubscriptionLoad, wanted: number, now: number): Admitted => ({
  ...admitAttempts({ ...load, breaker: closedBreaker }, wanted, now),
  breaker: load.breaker,
});

/**
 * How many of the `free` places of a process an organization may take that holds some already: until it holds as many as
 * stay free. Alone it has half of all places, and n organizations that want more have 1/(n + 1) each: the next one
 * finds places free, however long the others' attempts take (dynamic thresholds, Choudhury and Hahne 1998).
 */
export const fairShare = (free: number, held: number): number => Math.max(0, Math.ceil((free - held) / 2));

/** Why a delivery that is due is not attempted. */
export const delayReasons = {
  paused: 'an operator lets nothing be sent to the webhook',
  failing: 'the webhook failed ten times in a row, and one attempt every 30 seconds probes it',
  rate_limit: 'the webhook has had as many attempts as its `rateLimit` allows',
  concurrency: 'as many attempts as its `concurrency` allows are under way',
  order: 'an earlier delivery about the same subject comes first: the `ordering` of the webhook asks for that',
  busy: 'other deliveries of the organization, or to the same host, come first',
} as const;

export interface DeliveryDelay {
  reason: keyof typeof delayReasons;
  /** Ms since the epoch: no attempt before; null when it is not known. */
  until: number | null;
}

/** A delivery with attempts to come, none of which is under way. Times are ms since the epoch. */
interface WaitingDelivery {
  nextAttemptAt: number;
  ignoresBreaker: boolean;
  /** Whether it waits for another one about its subject. */
  isHeld: boolean;
}

/** Dispatchers look at least this often. */
const usualWaitMs = 1_000;

/** What keeps a delivery waiting at `now`; undefined when it is not due, or its attempt is about to begin. */
export function delayReason(load: SubscriptionLoad, delivery: WaitingDelivery, now: number): DeliveryDelay | undefined {
  const { nextAttemptAt, ignoresBreaker, isHeld } = delivery;
  if (load.isPaused) return { reason: 'paused', until: null };
  if (isHeld) return { reason: 'order', until: null };
  const { nextProbeAt } = load.breaker;
  if (nextProbeAt !== null && !ignoresBreaker) {
    return { reason: 'failing', until: Math.max(nextProbeAt, nextAttemptAt, now) };
  }
  if (nextAttemptAt > now) return undefined;
  const rest = admitExempt({ ...load, inFlight: 0 }, 1, now);
  if (rest.attempts === 0) return { reason: 'rate_limit', until: now + rest.waitMs };
  if (load.inFlight >= load.concurrency) return { reason: 'concurrency', until: null };
  return now - nextAttemptAt > usualWaitMs ? { reason: 'busy', until: null } : undefined;
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
export function divideAttempts(places: number, waiting: Waiting, chance: number): Waiting {
  const half = Math.floor(places / 2 + (chance < 0.5 ? 0.5 : 0));
  const retries = Math.min(waiting.retries, Math.max(half, places - waiting.first));
  return { first: Math.min(waiting.first, places - retries), retries };
}

const maxHoldMs = 3_600_000;
const shareOfAge = 0.1;

/**
 * How long a caller waits before it tries again to begin an attempt that cannot begin yet: longer for older deliveries,
 * so that thousands of them try rarely.
 */
export const holdMs = (waitMs: number, ageMs: number): number =>
  Math.max(waitMs, Math.min(Math.round(ageMs * shareOfAge), maxHoldMs));
