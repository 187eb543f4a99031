/** How often a provider is asked about a job, when no caller watches it. */
export interface PollSchedule {
  /** Between two questions. */
  leastMs: number;
  mostMs: number;
  /** The wait until the next poll as a share of the job's age, where the provider gives no figures. */
  share: number;
  /** The share of the usual time of such a job before which the provider is not polled. */
  notBefore: number;
}

/** What is known of a job. */
export interface JobFacts {
  ageMs: number;
  /** How long it was expected to take; null when it is not known. */
  expectedMs: number | null;
  /** The fraction that its provider reported, 0 to 1. */
  fraction?: number | undefined;
}

/** A figure below this says little about the time that is left. */
const tellingFraction = 0.1;

/**
 * When a provider is asked again that does not say when, in milliseconds. For the first time at a share of the time that
 * such jobs take. Then when the job should be done as its figures say, or else later and later.
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
