import { expect, test } from '@jest/globals';
import { healthState, successRate } from './health.ts';

test.each([
  [0, false, 'healthy'],
  [1, false, 'failing'],
  [10, true, 'open'],
] as const)('after %i failures in a row, with the breaker open: %s, a receiver is %s', (failures, isOpen, state) => {
  expect(healthState(failures, isOpen)).toBe(state);
});

test.each([
  [0, 0, null],
  [3, 0, 1],
  [0, 3, 0],
  [2, 1, 0.6667],
])('of %i attempts that succeeded and %i that failed the rate is %s', (delivered, failed, rate) => {
  expect(successRate(delivered, failed)).toBe(rate);
});
