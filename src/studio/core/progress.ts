/** A job is at 100 only when it is completed. */
const maxPercent = 99;

const whole = (percent: number) => Math.min(maxPercent, Math.max(0, Math.floor(percent)));

/** Percent from a provider's figure, 0 to 1. */
export const progressOfFraction = (fraction: number): number =>
  Number.isFinite(fraction) ? whole(fraction * 100 + 1e-9) : 0;

/** Percent for a provider without figures: elapsed over expected time. */
export const progressOfTime = (elapsedMs: number, expectedMs: number): number =>
  expectedMs > 0 ? whole((elapsedMs / expectedMs) * 100) : 0;

/** The time left as callers see it: whole seconds, at least 1. */
export const estimatedSeconds = (expectedMs: number): number => Math.max(1, Math.ceil(expectedMs / 1_000));

/** The facts about the progress of a generation. */
interface ProgressFacts {
  /** The highest that its provider reported; null when it reports none. */
  progress: number | null;
  expectedMs: number | null;
  ageMs: number;
}

/** Percent, 0 to 99. It never falls: it is the highest that was reported, or grows with the time. */
export const progressOf = ({ progress, expectedMs, ageMs }: ProgressFacts): number =>
  progress ?? progressOfTime(ageMs, expectedMs ?? 0);
