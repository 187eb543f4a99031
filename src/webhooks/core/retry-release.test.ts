import { describe, expect, test } from '@jest/globals';
import { defaultRetryReleasePolicy, describeWaiting, nextLookMs, type Waiting } from './retry-release.ts';

const now = Date.UTC(2026, 10, 22, 12, 3, 0);
const nothing: Waiting = {
  now,
  count: 1,
  lastReleasedAt: null,
  nextUnreleasedAt: null,
  nextAt: null,
  probeAt: null,
  failingSince: null,
  lastFailedAt: null,
  pausedAt: null,
};
const next = (waiting: Partial<Waiting>) => nextLookMs({ ...nothing, ...waiting }, defaultRetryReleasePolicy);

describe('the next look', () => {
  test('comes soon after the last retry that was released', () => {
    expect(next({ lastReleasedAt: now + 2_000 })).toBe(7_000);
    expect(next({ lastReleasedAt: now - 60_000 })).toBe(5_000);
  });

  test('comes in time to release more', () => {
    expect(next({ lastReleasedAt: now + 1_190_000 })).toBe(120_000);
    expect(next({ nextUnreleasedAt: now + 3_000_000 })).toBe(2_400_000);
    expect(next({ nextUnreleasedAt: now + 1_000 })).toBe(5_000);
    expect(next({ nextUnreleasedAt: now + 700_000, probeAt: now + 30_000, failingSince: now - 86_400_000 })).toBe(
      100_000,
    );
  });

  test('comes after the probe of an open breaker, and less often the longer a webhook fails', () => {
    const open = { lastReleasedAt: now, probeAt: now + 30_000 };
    expect(next({ ...open, failingSince: now - 10_000 })).toBe(100_000);
    expect(next({ ...open, failingSince: now - 40_000 })).toBe(400_000);
    expect(next({ ...open, failingSince: now - 86_400_000 })).toBe(600_000);
  });

  test('comes soon where a breaker has just opened: attempts were in flight', () => {
    const open = { lastReleasedAt: now, probeAt: now + 30_000, lastFailedAt: now - 10 };
    expect(next({ ...open, failingSince: now - 100 })).toBe(5_000);
    expect(next({ ...open, failingSince: now - 3_000 })).toBe(5_000);
    expect(next({ ...open, failingSince: now - 5_200 })).toBe(52_000);
  });

  test('comes less often the longer a webhook fails whose breaker is closed', () => {
    expect(next({ lastReleasedAt: now, failingSince: now - 40_000 })).toBe(10_000);
    expect(next({ lastReleasedAt: now, failingSince: now - 86_400_000 })).toBe(120_000);
  });

  test('comes soon after a failure, which others may have followed, and then later and later', () => {
    const far = { nextUnreleasedAt: now + 86_400_000 };
    expect(next({ ...far, lastFailedAt: now - 100, failingSince: now - 100 })).toBe(5_000);
    expect(next({ ...far, lastFailedAt: now - 10_000, failingSince: now - 12_000 })).toBe(10_000);
    expect(next({ ...far, lastFailedAt: now - 100, failingSince: now - 86_400_000 })).toBe(120_000);
    expect(next({ ...far, lastFailedAt: now - 7_200_000, failingSince: now - 7_200_000 })).toBe(3_600_000);
  });

  test('comes every hour where nothing is near, or nothing may be sent', () => {
    expect(next({ nextUnreleasedAt: now + 86_400_000 })).toBe(3_600_000);
    expect(next({ lastReleasedAt: now, pausedAt: now })).toBe(3_600_000);
  });
});

describe('the line for operators', () => {
  test.each<[Partial<Waiting>, string | null, number, string]>([
    [
      { count: 412, probeAt: now + 10_000 },
      'HTTP 503',
      0,
      '**412 deliveries wait**, the breaker probes at 12:03:10 UTC, last answer 503. As of 12:03:00 UTC.',
    ],
    [
      { nextAt: now + 4_000 },
      'timeout',
      1,
      '**1 delivery waits**, the next attempt is due at 12:03:04 UTC, last answer timeout, 1 dead letter. As of 12:03:00 UTC.',
    ],
    [
      { count: 10_000, pausedAt: now - 60_000 },
      null,
      10_000,
      '**Paused** since 12:02:00 UTC: nothing is sent until the signal `resume`, **10000 or more deliveries wait**, 10000 or more dead letters. As of 12:03:00 UTC.',
    ],
  ])('%#', (waiting, lastFailure, deadLetters, line) => {
    expect(describeWaiting({ ...nothing, ...waiting }, lastFailure, deadLetters)).toBe(line);
  });
});
