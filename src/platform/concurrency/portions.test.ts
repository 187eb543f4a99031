import { expect, test } from '@jest/globals';
import { portionsOf, portionWeight } from './portions.ts';

const half = portionWeight / 2;

test.each([
  { what: 'nothing', weights: [], portions: [] },
  { what: 'items without weight', weights: [0, 0, 0], portions: [[0, 0, 0]] },
  { what: 'what fits exactly', weights: [half, half, 1], portions: [[half, half], [1]] },
  {
    what: 'one that is too heavy alone',
    weights: [1, portionWeight * 2, 1],
    portions: [[1], [portionWeight * 2], [1]],
  },
])('$what is divided in its order', ({ weights, portions }) => {
  expect(portionsOf<number>(weights, (weight) => weight)).toEqual(portions);
});
