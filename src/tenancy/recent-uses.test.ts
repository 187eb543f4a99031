import { expect, test } from '@jest/globals';
import { RecentUses } from './recent-uses.ts';

test('an id begins one interval at a time, and is forgotten after it', () => {
  let now = 0;
  const uses = new RecentUses(30_000, () => now);
  expect([uses.begin('a'), uses.begin('a'), uses.begin('b')]).toEqual([true, false, true]);
  now = 29_999;
  expect([uses.begin('a'), uses.begin('c')]).toEqual([false, true]);
  now = 30_000;
  expect([uses.begin('a'), uses.begin('a'), uses.begin('c')]).toEqual([true, false, false]);
  expect(uses.size).toBe(2);
  now = 70_000;
  expect([uses.begin('d'), uses.size]).toEqual([true, 1]);
});
