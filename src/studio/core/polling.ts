/** How often a provider is polled for a job without a waiting caller. */
export interface PollSchedule {
  /** Between two questions. */
  leastMs: number;
  mostMs: number;
  /** The wait until the next poll as a share of the job's age, where the provider gives no figures. */
  share: number;
  /** The share of the usual time of such a job before which the provider is not polled. */
  notBefore: number;
}

/** The facts about a job. */
interface JobFacts {
  ageMs: number;
  /** How long it was expected to take; null when it is not known. */
  expectedMs: number | null;
  /** The fraction that its provider reported, 0 to 1. */
  fraction?: number | undefined;
}

/** A figure below this is too small to estimate the remaining time. */
const tellingFraction = 0.1;

/**
 * When to poll a provider that does not say when, in milliseconds. First after a share of the usual time of such jobs.
 * Then when the job should be finished by its progress, or else at growing intervals.
 */
export function pollAfterMs(
  { leastMs, mostMs, share, notBefore }: PollSchedule,
  { ageMs, expectedMs, fraction = 0 }: JobFacts,
): number {
  const isTelling = fraction >= tellingFraction;
  const untilFirst = (expectedMs ?? 0) * notBefore - ageMs;
  if (!isTelling && untilFirst > 0) return Math.ceil(Math.max(leastMs, untilFirst));
  const wait = isTelling ? (ageMs * (1 - fraction)) / fraction : ageMs * share;
  return Math.ceil(Math.min(mostMs, Math.max(leastMs, wait)));
}
