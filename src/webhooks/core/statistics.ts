import { successRate } from './health.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** A window ends with the current point. `per`: the counts that each point adds up. */
export const statisticsWindows = {
  '1h': { per: 'minute', pointMs: minuteMs, points: 60 },
  '24h': { per: 'hour', pointMs: hourMs, points: 24 },
  '7d': { per: 'hour', pointMs: 3 * hourMs, points: 56 },
  '30d': { per: 'hour', pointMs: 12 * hourMs, points: 60 },
} as const satisfies Record<string, { per: 'minute' | 'hour'; pointMs: number; points: number }>;
export type StatisticsWindow = keyof typeof statisticsWindows;
export const statisticsWindowNames = Object.keys(statisticsWindows) as StatisticsWindow[];

/** How an attempt was answered; `error`: not at all, or not with HTTP. */
export const statusClasses = ['2xx', '3xx', '4xx', '5xx', 'error'] as const;
export type StatusClass = (typeof statusClasses)[number];

/** The class of an attempt's status. @param status null without an answer */
export const statusClassOf = (status: number | null): StatusClass =>
  statusClasses.find((name) => name.startsWith(`${Math.floor((status ?? 0) / 100)}`)) ?? 'error';

/**
 * Upper bounds of durations in ms, each about a third above the previous one. The counts of durations are stored in
 * this order: a change would invalidate stored counts.
 */
export const latencyBounds = [
  5, 7, 10, 13, 18, 24, 32, 42, 56, 75, 100, 130, 180, 240, 320, 420, 560, 750, 1_000, 1_300, 1_800, 2_400, 3_200,
  4_200, 5_600, 7_500, 10_000, 13_000, 18_000, 24_000, 30_000,
] as const;

/** The place of a duration in `latencyBounds`. Longer ones than the last count as that. */
export function latencyPlace(durationMs: number): number {
  const place = latencyBounds.findIndex((bound) => durationMs <= bound);
  return place < 0 ? latencyBounds.length - 1 : place;
}

/** The attempts of a webhook in one minute or hour. */
export interface AttemptCounts {
  at: Date;
  byStatusClass: Record<StatusClass, number>;
  deadLettered: number;
  /** How many durations each of `latencyBounds` has. */
  latencies: readonly number[];
}

interface StatisticsPoint {
  /** Its beginning. */
  at: Date;
  succeeded: number;
  failed: number;
}

/** How the attempts of a webhook ended, without tests and examples. */
export interface WebhookStatistics {
  attempts: number;
  succeeded: number;
  failed: number;
  deadLettered: number;
  /** In [0, 1]; null without attempts. */
  successRate: number | null;
  /** Estimates in ms, of the attempts that were answered; null without such. */
  latencyMs: { p50: number | null; p95: number | null };
  byStatusClass: Record<StatusClass, number>;
  /** Oldest first, without gaps. */
  series: StatisticsPoint[];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);

/** The duration that a share of attempts does not exceed, as if durations between two bounds were spread evenly. */
export function latencyQuantile(latencies: readonly number[], share: number): number | null {
  const wanted = share * sum(latencies);
  if (wanted === 0) return null;
  let below = 0;
  for (const [place, count] of latencies.entries()) {
    if (below + count >= wanted) {
      const from = latencyBounds[place - 1] ?? 0;
      return Math.round(from + ((wanted - below) / count) * (latencyBounds[place]! - from));
    }
    below += count;
  }
  return latencyBounds.at(-1)!;
}

/** When a window begins. Times are ms since the epoch; points begin at multiples of their length, in UTC. */
export function windowStart(window: StatisticsWindow, now: number): number {
  const { pointMs, points } = statisticsWindows[window];
  return Math.floor(now / pointMs) * pointMs - (points - 1) * pointMs;
}

const failuresOf = (of: Record<StatusClass, number>) =>
  sum(statusClasses.filter((name) => name !== '2xx').map((name) => of[name]));

/** Adds up the counts of a window; others are left out. @param now ms since the epoch */
export function summarize(counts: readonly AttemptCounts[], window: StatisticsWindow, now: number): WebhookStatistics {
  const { pointMs, points } = statisticsWindows[window];
  const start = windowStart(window, now);
  const series = Array.from({ length: points }, (_, place): StatisticsPoint => {
    return { at: new Date(start + place * pointMs), succeeded: 0, failed: 0 };
  });
  const byStatusClass = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, error: 0 };
  const latencies = latencyBounds.map(() => 0);
  let deadLettered = 0;
  for (const of of counts) {
    const point = series[Math.floor((of.at.getTime() - start) / pointMs)];
    if (!point) continue;
    point.succeeded += of.byStatusClass['2xx'];
    point.failed += failuresOf(of.byStatusClass);
    for (const name of statusClasses) byStatusClass[name] += of.byStatusClass[name];
    for (const [place, count] of of.latencies.entries()) latencies[place]! += count;
    deadLettered += of.deadLettered;
  }
  const succeeded = byStatusClass['2xx'];
  const failed = failuresOf(byStatusClass);
  return {
    attempts: succeeded + failed,
    succeeded,
    failed,
    deadLettered,
    successRate: successRate(succeeded, failed),
    latencyMs: { p50: latencyQuantile(latencies, 0.5), p95: latencyQuantile(latencies, 0.95) },
    byStatusClass,
    series,
  };
}
