/** A job is at 100 only when it is completed. */
const most = 99;

const whole = (percent: number) => Math.min(most, Math.max(0, Math.floor(percent)));

/** Percent from a provider's figure, 0 to 1. */
export const progressOfFraction = (fraction: number): number =>
  Number.isFinite(fraction) ? whole(fraction * 100 + 1e-9) : 0;

/** Percent for a provider without figures: elapsed over expected time. */
export const progressOfTime = (elapsedMs: number, expectedMs: number): number =>
  expectedMs > 0 ? whole((elapsedMs / expectedMs) * 100) : 0;

/** Progress never falls. @param told what an earlier answer said */
export const laterProgress = (told: number, now: number): number => Math.max(told, whole(now));

/** The time left as callers are told it: whole seconds, at least 1. */
export const estimatedSeconds = (expectedMs: number): number => Math.max(1, Math.ceil(expectedMs / 1_000));
