import { describe, expect, test } from '@jest/globals';
import { pairedRatios } from './interleave.ts';
import { median, percentile } from './statistics.ts';

describe('statistics', () => {
  test('the median of an even number of values lies between the middle two', () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  test('a percentile is one of the values', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.95)).toBe(95);
    expect(percentile([7], 0.99)).toBe(7);
  });

  test('a ratio is taken round by round, so that a slow minute of the machine weighs on both sides', () => {
    const product = { name: 'product', values: [10, 5, 10], cpuMs: {} };
    const baseline = { name: 'baseline', values: [20, 10, 20], cpuMs: {} };
    expect(pairedRatios(product, baseline)).toEqual([0.5, 0.5, 0.5]);
  });
});
