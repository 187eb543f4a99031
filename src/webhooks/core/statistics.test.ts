import { describe, expect, test } from '@jest/globals';
import {
  type AttemptCounts,
  latencyBounds,
  latencyPlace,
  latencyQuantile,
  statisticsWindowNames,
  statisticsWindows,
  statusClassOf,
  summarize,
  windowStart,
} from './statistics.ts';

const now = Date.parse('2026-11-26T10:20:30Z');

function counts(at: string, given: Partial<AttemptCounts['byStatusClass']>, durations: number[] = []): AttemptCounts {
  const latencies = latencyBounds.map(() => 0);
  for (const ms of durations) latencies[latencyPlace(ms)]! += 1;
  const byStatusClass = { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0, error: 0 };
  return { at: new Date(at), byStatusClass: { ...byStatusClass, ...given }, deadLettered: 0, latencies };
}

test.each([
  [200, '2xx'],
  [204, '2xx'],
  [301, '3xx'],
  [410, '4xx'],
  [599, '5xx'],
  [999, 'error'],
  [101, 'error'],
  [null, 'error'],
])('the status %s is of the class %s', (status, name) => {
  expect(statusClassOf(status)).toBe(name);
});

test.each([
  ['1h', '2026-11-26T09:21:00.000Z'],
  ['24h', '2026-11-25T11:00:00.000Z'],
  ['7d', '2026-11-19T12:00:00.000Z'],
  ['30d', '2026-10-27T12:00:00.000Z'],
] as const)('a window of %s begins at %s', (window, start) => {
  expect(new Date(windowStart(window, now)).toISOString()).toBe(start);
});

test.each(statisticsWindowNames)(
  'a window of %s has 60 points at most, without gaps, and the last is now',
  (window) => {
    const { series } = summarize([], window, now);
    const { pointMs } = statisticsWindows[window];
    expect(series.length).toBeLessThanOrEqual(60);
    const times = series.map(({ at }) => at.getTime());
    expect(times.slice(1).every((at, place) => at - times[place]! === pointMs)).toBe(true);
    expect(now - times.at(-1)!).toBeLessThan(pointMs);
  },
);

describe('a summary', () => {
  test('adds up what lies in the window', () => {
    const { series, ...figures } = summarize(
      [
        counts('2026-11-25T10:00:00Z', { '2xx': 1000 }),
        counts('2026-11-25T11:00:00Z', { '2xx': 6, error: 1 }, [20, 20, 20, 20, 20, 20]),
        {
          ...counts('2026-11-26T10:00:00Z', { '2xx': 2, '4xx': 1, '5xx': 1, '3xx': 1 }, [3, 3, 3, 3, 9_000]),
          deadLettered: 2,
        },
      ],
      '24h',
      now,
    );
    expect(figures).toEqual({
      attempts: 12,
      succeeded: 8,
      failed: 4,
      deadLettered: 2,
      successRate: 0.6667,
      latencyMs: { p50: expect.any(Number), p95: expect.any(Number) },
      byStatusClass: { '2xx': 8, '3xx': 1, '4xx': 1, '5xx': 1, error: 1 },
    });
    expect(figures.latencyMs.p50).toBeGreaterThan(15);
    expect(figures.latencyMs.p50).toBeLessThan(25);
    expect(figures.latencyMs.p95).toBeGreaterThan(7_000);
    expect(figures.latencyMs.p95).toBeLessThan(11_000);
    expect(series[0]).toEqual({ at: new Date('2026-11-25T11:00:00Z'), succeeded: 6, failed: 1 });
    expect(series.at(-1)).toEqual({ at: new Date('2026-11-26T10:00:00Z'), succeeded: 2, failed: 3 });
  });

  test('without attempts has no rate and no durations', () => {
    const { successRate, latencyMs, attempts } = summarize([], '1h', now);
    expect({ successRate, latencyMs, attempts }).toEqual({
      successRate: null,
      latencyMs: { p50: null, p95: null },
      attempts: 0,
    });
  });
});

test.each([0, 1, 7, 33, 200, 1_050, 12_500, 29_999])('%i ms are found again, to a third', (ms) => {
  const latencies = latencyBounds.map(() => 0);
  latencies[latencyPlace(ms)] = 100;
  const found = latencyQuantile(latencies, 0.5)!;
  expect(found).toBeGreaterThanOrEqual(ms / 1.34 - 3);
  expect(found).toBeLessThanOrEqual(ms * 1.34 + 3);
});

test('what takes longer than any bound counts as the last', () => {
  expect(latencyPlace(1e9)).toBe(latencyBounds.length - 1);
});
