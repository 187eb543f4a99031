/** Requests that fit into a minute and into a UTC day. */
export interface RateLimits {
  perMinute: number;
  perDay: number;
}

/** Requests already let through in the windows that hold this moment. */
export interface RateCounts {
  minute: number;
  day: number;
}

export interface RateDecision {
  allowed: boolean;
  /** What the three headers say, of the window with fewer requests left. */
  limit: number;
  remaining: number;
  /** Unix seconds. */
  resetAt: number;
  /** Whole seconds until that window ends, at least 1. */
  retryAfter: number;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** When the windows that hold this moment began, in ms since the epoch: whole minutes and whole UTC days. */
export function windowStarts(now: number): { minute: number; day: number } {
  return { minute: now - (now % minuteMs), day: now - (now % dayMs) };
}

/** Whether one more request fits. One that does not fit is counted in neither window. */
export const fits = (limits: RateLimits, counts: RateCounts): boolean =>
  counts.minute < limits.perMinute && counts.day < limits.perDay;

/**
 * What to tell a caller.
 * @param counts after this request was counted, if it was allowed
 */
export function decide(limits: RateLimits, counts: RateCounts, allowed: boolean, now: number): RateDecision {
  const starts = windowStarts(now);
  const minute = {
    limit: limits.perMinute,
    remaining: limits.perMinute - counts.minute,
    end: starts.minute + minuteMs,
  };
  const day = { limit: limits.perDay, remaining: limits.perDay - counts.day, end: starts.day + dayMs };
  // Where both are used up the longer wait is the true one.
  const tighter = day.remaining <= minute.remaining ? day : minute;
  return {
    allowed,
    limit: tighter.limit,
    remaining: Math.max(0, tighter.remaining),
    resetAt: tighter.end / 1000,
    retryAfter: Math.max(1, Math.ceil((tighter.end - now) / 1000)),
  };
}
