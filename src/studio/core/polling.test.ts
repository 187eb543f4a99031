import { describe, expect, test } from '@jest/globals';
import { pollAfterMs } from './polling.ts';

const schedule = { leastMs: 5_000, mostMs: 30_000, share: 0.2, notBefore: 0.5 };
const waitAt = (ageMs: number, fraction?: number, expectedMs: number | null = 80_000) =>
  pollAfterMs(schedule, { ageMs, expectedMs, fraction });

describe('a provider is asked', () => {
  test('for the first time at a share of the usual time', () => {
    expect([waitAt(0), waitAt(1_000), waitAt(38_000)]).toEqual([40_000, 39_000, 5_000]);
    expect(waitAt(0, 0.05)).toBe(40_000);
  });

  test('then at a share of the age, within limits', () => {
    expect([waitAt(40_000), waitAt(20_000, 0, 10_000), waitAt(600_000)]).toEqual([8_000, 5_000, 30_000]);
    expect(waitAt(0, undefined, null)).toBe(5_000);
  });

  test('when the job should be done as the provider says, within limits', () => {
    expect([waitAt(40_000, 0.8), waitAt(10_000, 0.5), waitAt(40_000, 0.1)]).toEqual([10_000, 10_000, 30_000]);
    expect([waitAt(40_000, 0.99), waitAt(40_000, 1), waitAt(40_000, 7)]).toEqual([5_000, 5_000, 5_000]);
  });
});
