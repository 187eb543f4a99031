/** Durations in ms. */
export interface RetryReleasePolicy {
  /** How far ahead a webhook's workflow releases retries to the dispatchers. */
  aheadMs: number;
  /** How long after the last released retry it looks what became of them. */
  settleMs: number;
  /** It looks at least this often while there are retries. */
  retryingLookMs: number;
  /** It looks at least this often, even where everything is far away. */
  maxLookMs: number;
}

export const defaultRetryReleasePolicy: RetryReleasePolicy = {
  aheadMs: 1_200_000,
  settleMs: 5_000,
  retryingLookMs: 120_000,
  maxLookMs: 3_600_000,
};

/** The retries of a webhook that wait. Times are ms since the epoch. */
export interface Waiting {
  now: number;
  /** How many, counted up to `maxCounted`. */
  count: number;
  /** When the latest released retry is due; null if none is released. */
  lastReleasedAt: number | null;
  /** When the first of the others is due. */
  nextUnreleasedAt: number | null;
  /** When the first of all is due. */
  nextAt: number | null;
  /** While the breaker is open: when it probes. */
  probeAt: number | null;
  failingSince: number | null;
  /** When the last attempt failed. */
  lastFailedAt: number | null;
  pausedAt: number | null;
}

export const maxCounted = 10_000;

/** While the breaker is open, of the time that the webhook has been failing. */
const openShare = 10;
const closedShare = 1 / 4;

/**
 * After how many ms the workflow of a webhook looks again: in time to release the next due retries, and soon after it
 * has released some. After a failure it looks again at growing intervals, so that its status line counts the failures
 * since then: a single failure does not wake it. The longer the webhook has been failing, the rarer the looks are, and
 * they are rarest while the breaker is open: then only one probe at a time is made, and the attempt that closes the
 * breaker wakes the workflow. A look costs the installation about 20 ms of CPU, and hundreds of webhooks may be down
 * for days.
 */
export function nextLookMs(waiting: Waiting, policy: RetryReleasePolicy): number {
  const { now, lastReleasedAt, nextUnreleasedAt, probeAt, failingSince, lastFailedAt, pausedAt } = waiting;
  const { aheadMs, settleMs, retryingLookMs, maxLookMs } = policy;
  if (pausedAt !== null) return maxLookMs;
  const inTimeMs = aheadMs / 2;
  const isOpen = probeAt !== null;
  const failingMs = now - (failingSince ?? now);
  const [share, max] = isOpen ? [openShare, inTimeMs] : [closedShare, Math.min(retryingLookMs, inTimeMs)];
  const min = Math.min(Math.max(settleMs, failingMs * share), max);
  const looks = [maxLookMs];
  if (lastReleasedAt !== null) {
    const settled = Math.max(lastReleasedAt, probeAt ?? 0, now) - now + settleMs;
    looks.push(Math.min(Math.max(settled, min), max));
  }
  // When it opens, many attempts may be in flight.
  if (isOpen && failingMs < settleMs) looks.push(settleMs);
  if (!isOpen && lastFailedAt !== null) looks.push(Math.max(min, now - lastFailedAt));
  if (nextUnreleasedAt !== null) looks.push(Math.max(nextUnreleasedAt - now - inTimeMs, settleMs));
  return Math.ceil(Math.min(...looks));
}

const clock = (ms: number): string => `${new Date(ms).toISOString().slice(11, 19)} UTC`;
const counted = (count: number, one: string, many: string): string =>
  `${count >= maxCounted ? `${maxCounted} or more` : count} ${count === 1 ? one : many}`;

/** The reason why the workflow of a webhook waits, in one line. */
export function describeWaiting(waiting: Waiting, lastFailure: string | null, deadLetters: number): string {
  const { now, count, nextAt, probeAt, pausedAt } = waiting;
  const parts = [`**${counted(count, 'delivery waits', 'deliveries wait')}**`];
  if (pausedAt !== null)
    parts.unshift(`**Paused** since ${clock(pausedAt)}: nothing is sent until the signal \`resume\``);
  else if (probeAt !== null) parts.push(`the breaker probes at ${clock(Math.max(probeAt, now))}`);
  else if (nextAt !== null) parts.push(`the next attempt is due at ${clock(Math.max(nextAt, now))}`);
  if (lastFailure !== null) parts.push(`last answer ${lastFailure.replace(/^HTTP /, '')}`);
  if (deadLetters > 0) parts.push(counted(deadLetters, 'dead letter', 'dead letters'));
  return `${parts.join(', ')}. As of ${clock(now)}.`;
}
