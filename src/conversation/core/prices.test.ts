import { expect, test } from '@jest/globals';
import { messagePrice } from './prices.ts';

test('a message costs one credit, and one more where tools were called, as published', () => {
  expect([messagePrice(false), messagePrice(true)]).toEqual([1, 2]);
});
