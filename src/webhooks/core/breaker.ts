/**
 * Limits the attempts to a receiver that is down.
 *
 *     closed ── 10 failures in a row ──> open: one probe every 30 s ── a success ──> closed
 *
 * While it is open, other deliveries wait without using up attempts. The probe is an ordinary attempt of one delivery.
 */
export interface Breaker {
  failuresInARow: number;
  /** When the next probe may be made, in ms since the epoch; null while closed. */
  nextProbeAt: number | null;
}

export interface BreakerPolicy {
  failuresToOpen: number;
  probeEveryMs: number;
}

export const defaultBreakerPolicy: BreakerPolicy = { failuresToOpen: 10, probeEveryMs: 30_000 };
export const closedBreaker: Breaker = { failuresInARow: 0, nextProbeAt: null };

/** The caller must store `breaker` before it sends, so that no other process sends a probe. */
type Admission = { admitted: true; breaker: Breaker } | { admitted: false; waitMs: number };

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
  // Failures of attempts that were in flight when it opened do not postpone the probe.
  return { failuresInARow, nextProbeAt: breaker.nextProbeAt ?? now + policy.probeEveryMs };
}
