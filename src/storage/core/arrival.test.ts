import { expect, test } from '@jest/globals';
import { Arrival } from './arrival.ts';

const rule = { silentLooks: 3, window: 2, bytes: 10 };

/** The findings of looks before each of which so many bytes arrived. */
function findings(...received: number[]) {
  const arrival = new Arrival(rule);
  return received.map((bytes) => {
    arrival.add(bytes);
    return arrival.look();
  });
}

test('who says nothing is silent, whenever that begins to count', () => {
  expect(findings(0, 0, 0)).toEqual([undefined, undefined, 'silent']);
  expect(findings(0, 0, 1)).toEqual([undefined, undefined, undefined]);
});

test('who sends too little in a window is slow, however much came before', () => {
  expect(findings(1, 5, 5, 5, 4)).toEqual([undefined, undefined, undefined, undefined, 'slow']);
  expect(findings(1_000, 0, 0)).toEqual([undefined, undefined, 'slow']);
  expect(findings(1, 0, 10, 0, 10, 0)).toEqual(Array(6).fill(undefined));
});
