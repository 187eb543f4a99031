/** Maximum requests per minute and per UTC day. */
export interface RateLimits {
  perMinute: number;
  perDay: number;
}

/** A minute window of one operation, in addition to that of all requests. */
export interface OperationLimit {
  name: string;
  perMinute: number;
}

/** Requests counted in the current windows. */
export interface RateCounts {
  minute: number;
  day: number;
}

/** The windows in which every request counts: their published names, and the words for them in a refusal. */
export const requestWindows = {
  minute: { name: 'minute', text: 'requests per minute' },
  day: { name: 'day', text: 'requests per UTC day' },
} as const;

export interface RateDecision {
  allowed: boolean;
  /** The window with fewer remaining requests, which the following values are about. */
  window: 'minute' | 'day';
  limit: number;
  remaining: number;
  /** Unix seconds. */
  resetAt: number;
  /** Whole seconds until that window ends, at least 1. */
  retryAfter: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Start of the current minute and UTC day, in ms since the epoch. */
export function windowStarts(now: number): { minute: number; day: number } {
  return { minute: now - (now % minuteMs), day: now - (now % dayMs) };
}

/** Whether so many more requests are allowed. Rejected requests are counted in neither window. */
export const fits = (limits: RateLimits, counts: RateCounts, requests = 1): boolean =>
  counts.minute + requests <= limits.perMinute && counts.day + requests <= limits.perDay;

/**
 * The decision and its rate limit headers.
 * @param counts after the requests were counted, if they were allowed
 * @param requests how many were asked for at once
 */
export function decide(
  limits: RateLimits,
  counts: RateCounts,
  allowed: boolean,
  now: number,
  requests = 1,
): RateDecision {
  const starts = windowStarts(now);
  const minute = {
    window: 'minute' as const,
    limit: limits.perMinute,
    remaining: limits.perMinute - counts.minute,
    end: starts.minute + minuteMs,
  };
  const day = {
    window: 'day' as const,
    limit: limits.perDay,
    remaining: limits.perDay - counts.day,
    end: starts.day + dayMs,
  };
  // If both windows are exhausted, the longer wait applies.
  const isDay = allowed ? day.remaining <= minute.remaining : day.remaining < requests;
  const tighter = isDay ? day : minute;
  return {
    allowed,
    window: tighter.window,
    limit: tighter.limit,
    remaining: Math.max(0, tighter.remaining),
    resetAt: tighter.end / 1000,
    retryAfter: Math.max(1, Math.ceil((tighter.end - now) / 1000)),
  };
}

/** The decision about what counts in the window of an operation alone. @param count after it was counted, if it was allowed */
export const decideAlone = (
  { limit, count }: { limit: number; count: number },
  allowed: boolean,
  now: number,
): RateDecision =>
  decide({ perMinute: limit, perDay: Number.MAX_SAFE_INTEGER }, { minute: count, day: 0 }, allowed, now);

/**
 * The decision about a request that counts in a window of its operation as well: it is allowed where all windows have room,
 * and is counted in all of them or in none.
 * @param operation requests of the operation in this minute, after this one was counted, if it was allowed
 */
export function decideOperation(
  limits: RateLimits,
  counts: RateCounts,
  operation: { limit: number; count: number },
  allowed: boolean,
  now: number,
): RateDecision {
  const ofAll = decide(limits, counts, allowed, now);
  const ofOperation = decideAlone(operation, allowed, now);
  // A refusal describes the window that refused; of two that did, the one to wait for longer.
  if (!allowed && !fits(limits, counts)) return ofAll;
  if (!allowed) return ofOperation;
  return ofOperation.remaining < ofAll.remaining ? ofOperation : ofAll;
}
