import { expect, test } from '@jest/globals';
import { speechPrice, transcriptionPrice } from './prices.ts';

test.each([
  [1, 1],
  [1_000, 1],
  [1_001, 2],
  [4_096, 5],
])('%d spoken characters cost %d, as published', (characters, price) => {
  expect(speechPrice(characters)).toBe(price);
});

test.each([
  [0.2, 2],
  [60, 2],
  [61, 4],
  [1_800, 60],
])('%d transcribed seconds cost %d, as published', (seconds, price) => {
  expect(transcriptionPrice(seconds)).toBe(price);
});

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, 1e300])('%d seconds have no price', (seconds) => {
  expect(() => transcriptionPrice(seconds)).toThrow(RangeError);
});
