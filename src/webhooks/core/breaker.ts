/**
 * Keeps a receiver that is down from being asked by every delivery that is due.
 *
 *     closed ── 10 failures in a row ──> open: one probe every 30 s ── a success ──> closed
 *
 * A delivery that is held back waits and makes no attempt; the one that probes makes an attempt of its own.
 */
export interface Breaker {
  failuresInARow: number;
  /** Ms since the epoch from which one delivery may probe; null while closed. */
  nextProbeAt: number | null;
}

export interface BreakerPolicy {
  failuresToOpen: number;
  probeEveryMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = { failuresToOpen: 10, probeEveryMs: 30_000 };
export const closedBreaker: Breaker = { failuresInARow: 0, nextProbeAt: null };

/** Who is admitted must store `breaker` before it sends, so that nobody else probes meanwhile. */
export type Admission = { admitted: true; breaker: Breaker } | { admitted: false; waitMs: number };

/** Whether a delivery that is due may be attempted at `now`, ms since the epoch. */
export function admit(breaker: Breaker, now: number, policy: BreakerPolicy = defaultBreakerPolicy): Admission {
  const { nextProbeAt } = breaker;
  if (nextProbeAt === null) return { admitted: true, breaker };
  if (now < nextProbeAt) return { admitted: false, waitMs: nextProbeAt - now };
  return { admitted: true, breaker: { ...breaker, nextProbeAt: now + policy.probeEveryMs } };
}

/** The breaker after an attempt that ended at `now`. */
export function afterAttempt(
  breaker: Breaker,
  delivered: boolean,
  now: number,
  policy: BreakerPolicy = defaultBreakerPolicy,
): Breaker {
  if (delivered) return closedBreaker;
  const failuresInARow = breaker.failuresInARow + 1;
  if (failuresInARow < policy.failuresToOpen) return { failuresInARow, nextProbeAt: null };
  // Attempts that were under way when it opened do not put the probe off.
  return { failuresInARow, nextProbeAt: breaker.nextProbeAt ?? now + policy.probeEveryMs };
}
