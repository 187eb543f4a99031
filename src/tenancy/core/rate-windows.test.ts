import { describe, expect, test } from '@jest/globals';
import { decide, decideOperation, fits, windowStarts } from './rate-windows.ts';

const limits = { perMinute: 60, perDay: 1_000 };
const now = Date.UTC(2026, 10, 21, 23, 59, 30, 500);

describe('rate windows', () => {
  test('are whole minutes and whole UTC days', () => {
    expect(windowStarts(now)).toEqual({ minute: Date.UTC(2026, 10, 21, 23, 59), day: Date.UTC(2026, 10, 21) });
  });

  test('let the last request of each through and not the next', () => {
    expect(fits(limits, { minute: 59, day: 999 })).toBe(true);
    expect(fits(limits, { minute: 60, day: 0 })).toBe(false);
    expect(fits(limits, { minute: 0, day: 1_000 })).toBe(false);
  });

  test('speak of the window with fewer requests left', () => {
    expect(decide(limits, { minute: 1, day: 1 }, true, now)).toEqual({
      allowed: true,
      window: 'minute',
      limit: 60,
      remaining: 59,
      resetAt: Date.UTC(2026, 10, 22) / 1000,
      retryAfter: 30,
    });
    const earlier = Date.UTC(2026, 10, 21, 12, 0, 1);
    expect(decide(limits, { minute: 5, day: 990 }, true, earlier)).toMatchObject({ limit: 1_000, remaining: 10 });
    expect(decide(limits, { minute: 60, day: 1_000 }, false, earlier)).toMatchObject({
      window: 'day',
      limit: 1_000,
      remaining: 0,
      retryAfter: 12 * 3600 - 1,
    });
  });

  test('ask for a wait of a second at least', () => {
    expect(decide(limits, { minute: 60, day: 60 }, false, Date.UTC(2026, 0, 1, 0, 0, 59, 999)).retryAfter).toBe(1);
  });
});

describe('the window of an operation', () => {
  const noon = Date.UTC(2026, 10, 21, 12, 0, 1);
  const decide = (minute: number, day: number, count: number, allowed: boolean) =>
    decideOperation(limits, { minute, day }, { limit: 30, count }, allowed, noon);

  test('is reported when it has fewer requests left than the others', () => {
    expect(decide(1, 1, 1, true)).toMatchObject({ allowed: true, limit: 30, remaining: 29 });
    expect(decide(50, 50, 1, true)).toMatchObject({ limit: 60, remaining: 10 });
    expect(decide(1, 990, 1, true)).toMatchObject({ window: 'day', limit: 1_000, remaining: 10 });
  });

  test('is reported for a refusal only when it refused', () => {
    expect(decide(30, 30, 30, false)).toMatchObject({ allowed: false, limit: 30, remaining: 0, retryAfter: 59 });
    expect(decide(60, 60, 29, false)).toMatchObject({ limit: 60, remaining: 0 });
    expect(decide(60, 60, 30, false)).toMatchObject({ limit: 60, remaining: 0 });
    expect(decide(30, 1_000, 30, false)).toMatchObject({ window: 'day', limit: 1_000, retryAfter: 12 * 3600 - 1 });
  });
});
